#include "orrery/validate/fit/fit_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/estimate.h"
#include "orrery/base/fields.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

constexpr std::size_t kLeastFigures = 6;
constexpr double kHuber = 0.5;  // logarithmic error beyond which a row pulls no harder
constexpr double kPull = 0.02;  // weight of a constant's distance from the profile's own value
constexpr int kMostEvaluations = 600;

// A constant that rows may fit; the fit varies its logarithm.
struct Constant {
  const char* key;     // below the profile
  const char* unit;    // empty: a plain factor
  double scale;        // of the unit
  double least, most;  // in that unit
  double usual = 1;    // where the search starts if the profile has zero
};

constexpr Constant kMemoryFactor{"kernels.memory_factor", "", 1, 0.7, 20};
constexpr Constant kComputeFactor{"kernels.compute_factor", "", 1, 0.7, 20};
constexpr Constant kPrefillAttention{"kernels.prefill_attention_factor", "", 1, 0.7, 3};
constexpr Constant kUnitBandwidth{"kernels.unit_bandwidth", "GB/s", 1e9, 2, 100};
constexpr Constant kHostPerStep{"execution.host_per_step", "us", 1e-6, 10, 20000, 500};
constexpr Constant kHostPerSequence{"execution.host_per_sequence", "us", 1e-6, 0.1, 1000, 10};
constexpr Constant kHostPerLayer{"execution.host_per_layer", "us", 1e-6, 1, 1000, 20};
constexpr Constant kKernelGap{"execution.kernel_gap", "us", 1e-6, 0.05, 100, 3};
constexpr Constant kOlderHost{"execution.older_host_factor", "", 1, 0.7, 3};
constexpr Constant kCollective{"execution.collective_latency", "us", 1e-6, 0.01, 100, 1};

// The value of the constant in its unit, read from the profile under its key.
double value_of(EngineProfile profile, const Constant& c) {
  Fields fields;
  declare(fields, profile);
  const auto json = fields.find(c.key)->json();
  const double value =
      json.is_string() ? *parse_quantity(fields.find(c.key)->dimension(), json.get<std::string>())
                       : json.get<double>();
  return value > 0 ? std::clamp(value / c.scale, c.least, c.most) : c.usual;
}

std::string text_of(const Constant& c, double v) {
  return *c.unit ? fmt::format("{:.4g} {}", v, c.unit) : fmt::format("{:.4g}", v);
}

class EngineFit {
 public:
  EngineFit(Runner& runner, std::vector<MeasuredRow> rows, const EngineProfile& profile)
      : runner_(runner), rows_(std::move(rows)) {
    constants_ = {kMemoryFactor, kComputeFactor, kHostPerStep};
    bool batches = false, older = false, newer = false, several = false;
    for (const MeasuredRow& r : rows_) {
      batches |= r.keys.number("workload.batch") > 4;
      several |= r.keys.number("parallel.tp") > 1;
      const Gpu gpu = runner_.catalog().gpu(r.keys.text("hardware.gpu"));
      (gpu.sm_version < 90 ? older : newer) = true;
    }
    if (profile.kernels.unit_bandwidth > BytesPerSecond(0)) constants_.push_back(kUnitBandwidth);
    if (batches) constants_.push_back(kHostPerSequence);
    constants_.push_back(kKernelGap);
    if (!profile.execution.decode_graphs) constants_.push_back(kHostPerLayer);
    if (older && newer) constants_.push_back(kOlderHost);
    if (several) constants_.push_back(kCollective);
    if (profile.version.find("2023") != std::string::npos || profile.id == "vllm-2023")
      constants_.push_back(kPrefillAttention);
    for (const MeasuredRow& r : rows_) weight_[r.group] += 1;
    for (auto& [group, weight] : weight_) weight = 1 / std::sqrt(weight);
    for (const Constant& c : constants_) start_.push_back(std::log(value_of(profile, c)));
  }

  const std::vector<Constant>& constants() const { return constants_; }
  const std::vector<double>& start() const { return start_; }

  // Logarithmic errors of all figures with the constants `x`, and their weights.
  struct Error {
    double log, weight;
  };
  std::vector<Error> errors(const std::vector<double>& x) {
    std::vector<Error> out;
    RunOptions options;
    options.breakdown = false;
    for (MeasuredRow& row : rows_) {
      for (std::size_t i = 0; i < constants_.size(); ++i) {
        row.keys.set_engine(constants_[i].key, text_of(constants_[i], std::exp(x[i])));
      }
      try {
        const Answer answer = runner_.run(row.keys.scenario(), options);
        for (const MeasuredFigure& f : row.figures) {
          if (const Metric* m = answer.points.at(0).find(f.answer_name))
            out.push_back({std::log(m->value / f.value), weight_.at(row.group)});
        }
      } catch (const std::runtime_error&) {  // refused: `orrery validate` reports it
      }
    }
    return out;
  }

  double loss(const std::vector<double>& x) {
    double sum = 0, n = 0;
    for (const Error& e : errors(x)) {
      sum += e.weight * log_tailed(e.log, kHuber);
      n += e.weight;
    }
    double pull = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      pull += kPull * std::abs(x[i] - start_[i]) / static_cast<double>(x.size());
    return sum / std::max(n, 1.0) + pull;
  }

 private:
  Runner& runner_;
  std::vector<MeasuredRow> rows_;
  std::vector<Constant> constants_;
  std::vector<double> start_;
  std::map<std::string, double>
      weight_;  // of a group's rows: a group of many rows counts as their square root
};

// The own error of a step for which 90 % of the fitted figures lie inside the 90 % interval, if no
// other error counts.
double spread(const std::vector<EngineFit::Error>& errors) {
  std::vector<double> absolute;
  for (const EngineFit::Error& e : errors) absolute.push_back(std::abs(e.log));
  constexpr double kLeast = 0.03, kMost = 1.0;
  return absolute.empty()
             ? kMost
             : std::clamp(quantile(absolute, 0.9) / normal_quantile(0.95), kLeast, kMost);
}

double median_percent(const std::vector<EngineFit::Error>& errors) {
  std::vector<double> percent;
  for (const EngineFit::Error& e : errors) percent.push_back(100 * std::abs(std::expm1(e.log)));
  return percent.empty() ? 0 : quantile(percent, 0.5);
}

std::string recipe(const EngineFit& fit, const std::vector<double>& x, const FittedEngine& result,
                   const std::string& date) {
  std::string out = fmt::format(
      "# Made by `orrery fit engines` from data/inference on {}: do not edit.\n"
      "# {} figures of the groups that fit (the others judge); median error {:.1f} % before, "
      "{:.1f} % after.\n"
      "calibration: \"fitted on {} figures of data/inference ({})\"\n",
      date, result.rows, result.error_before, result.error_after, result.rows, date);
  std::map<std::string, std::vector<std::string>> groups;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string key = fit.constants()[i].key;
    const std::size_t dot = key.find('.');
    groups[key.substr(0, dot)].push_back(
        fmt::format("  {}: {}", key.substr(dot + 1), text_of(fit.constants()[i], std::exp(x[i]))));
  }
  for (const auto& [group, lines] : groups) {
    out += group + ":\n";
    for (const std::string& line : lines) out += line + "\n";
  }
  return out;
}

}  // namespace

std::vector<FittedEngine> fit_engines(const std::filesystem::path& dir, const std::string& date,
                                      const Bundle& bundle) {
  Runner runner(bundle);
  std::vector<MeasuredRow> rows;
  std::vector<RefusedRow> refused;
  for (const char* table : {"single_request", "offline_throughput"}) {
    read_inference_rows(dir, table, runner.catalog(), rows, refused);
  }
  std::map<std::string, std::vector<MeasuredRow>> by_engine;
  for (MeasuredRow& row : rows) {
    if (fits_engines(row.group)) by_engine[row.engine].push_back(std::move(row));
  }
  std::vector<FittedEngine> results;
  for (auto& [engine, engine_rows] : by_engine) {
    FittedEngine result;
    result.engine = engine;
    for (const MeasuredRow& r : engine_rows) result.rows += r.figures.size();
    if (result.rows < kLeastFigures) {
      result.skipped =
          fmt::format("{} figures, at least {} are needed", result.rows, kLeastFigures);
      results.push_back(result);
      continue;
    }
    EngineFit fit(runner, std::move(engine_rows), load_engine(engine, bundle, false));
    const std::vector<double> start = fit.start();
    result.error_before = median_percent(fit.errors(start));
    Bounds bounds;
    for (const Constant& c : fit.constants()) {
      bounds.lower.push_back(std::log(c.least));
      bounds.upper.push_back(std::log(c.most));
    }
    const std::vector<double> x =
        minimise([&](const std::vector<double>& at) { return fit.loss(at); }, start, bounds,
                 {.step = 0.5, .evaluations = kMostEvaluations, .relative_tolerance = 1e-4});
    const std::vector<EngineFit::Error> errors = fit.errors(x);
    result.error_after = median_percent(errors);
    result.yaml =
        recipe(fit, x, result, date) + fmt::format("step_error: {:.3g}\n", spread(errors));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace orrery
