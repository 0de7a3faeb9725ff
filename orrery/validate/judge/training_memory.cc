#include "orrery/validate/judge/training_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/validate/questions/training_scenario.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {
namespace {

constexpr double kPull = 0.02;  // of one e-fold from a prior, in mean absolute log error
constexpr int kMostEvaluations = 120;
constexpr double kMostLog = 0.5;  // an error of a row counts at most so much
constexpr double kInterval50 = 0.674, kInterval90 = 1.645;  // of a normal distribution

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

MemoryReading reading_of(std::string_view kind) {
  if (has(kind, "nvidia-smi")) return MemoryReading::kDevice;
  if (has(kind, "allocated") || has(kind, "active")) return MemoryReading::kAllocated;
  return MemoryReading::kReserved;
}

// nvidia-smi and the logs of torchtitan, torchtune and nanotron count in MiB and GiB. A "GB" of
// BigScience is a thousand MiB of nvidia-smi.
Bytes unit_of(const TrainingRow& row) {
  const std::string& kind = row.memory_kind;
  if (row.source == "bigscience") return Bytes(1000.0 * 1024 * 1024);
  if (has(kind, "GiB") || has(kind, "nvidia-smi") || row.source == "torchtitan" ||
      row.source == "torchtune" || row.source == "nanotron")
    return gibibytes(1);
  return gigabytes(1);
}

bool is_described(const TrainingRow& row) {
  if (!row.distrusted.empty() || has(row.memory_kind, "not stated")) return false;
  const bool recompute =
      row.declares("recompute") || (row.stack.no_recompute_unsharded && row.job.plan.zero == 0);
  return recompute && row.declares("micro_batch");
}

TrainingMemory memory_of(const TrainingMemoryRow& row,
                         const TrainingMemoryConstants::Fitted& constants) {
  TrainingMemoryConstants stack = row.stack;
  stack.fitted = constants;
  return training_memory(row.row.model, row.row.job, stack, row.gpu);
}

// The constants that the rows can distinguish, as logarithms relative to their priors.
using Parameters = std::vector<double>;
TrainingMemoryConstants::Fitted at(const Parameters& x) {
  TrainingMemoryConstants::Fitted c;
  c.factor *= std::exp(x[0]);
  c.fragmentation *= std::exp(x[1]);
  c.context *= std::exp(x[2]);
  return c;
}

const char* metric_of(MemoryReading reading) {
  return reading == MemoryReading::kAllocated  ? "memory_allocated"
         : reading == MemoryReading::kReserved ? "memory_reserved"
                                               : "memory";
}

// The scenario whose answer has the row's prediction; else words and the reason why none has.
std::string asked(const TrainingMemoryRow& row, TrainingScenarios& scenarios) {
  const bool fused = row.row.compiled || training_stack(row.row.stack.name).memory.fused;
  if (row.stack.fused != fused)
    return words_of(row.row) + ": its fused kernels are no key of training";
  return scenarios.memory_question(row.row);
}

struct Fit {
  std::vector<const TrainingMemoryRow*> rows;
  std::map<std::string, double> weight;  // of a row, by source

  double loss(const Parameters& x) const {
    const TrainingMemoryConstants::Fitted c = at(x);
    double sum = 0, weights = 0;
    for (const TrainingMemoryRow* r : rows) {
      const double w = weight.at(r->row.source);
      sum += w * std::abs(std::log(predicted_memory(*r, c) / r->measured));
      weights += w;
    }
    double pull = 0;
    for (const double v : x) pull += v * v;
    return sum / weights + kPull * pull;
  }
};

// The constants that sources other than the excluded ones give, and each fit only once.
class FitsWithout {
 public:
  explicit FitsWithout(const std::vector<TrainingMemoryRow>& rows) : rows_(rows) {
    for (const TrainingMemoryRow& r : rows)
      if (r.judges()) sources_.insert(r.row.source);
  }

  const TrainingMemoryConstants::Fitted& operator()(const std::set<std::string>& excluded) {
    std::set<std::string> known;
    for (const std::string& source : excluded)
      if (sources_.count(source)) known.insert(source);
    const auto [at, added] = fits_.try_emplace(known);
    if (added) {
      std::vector<TrainingMemoryRow> others;
      std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(others),
                   [&](const TrainingMemoryRow& r) { return !known.count(r.row.source); });
      at->second = fit_training_memory(others);
    }
    return at->second;
  }

 private:
  const std::vector<TrainingMemoryRow>& rows_;
  std::set<std::string> sources_;
  std::map<std::set<std::string>, TrainingMemoryConstants::Fitted> fits_;
};

// The error under which the rows of all sources but `judged` are likeliest, each predicted without
// its own source and without `judged`. A source weighs as the square root of its rows.
MemoryError error_without(const std::string& judged, const std::vector<TrainingMemoryRow>& rows,
                          FitsWithout& without) {
  struct Residual {
    Bytes predicted;
    double log, weight;
  };
  std::map<std::string, double> counts;
  for (const TrainingMemoryRow& r : rows)
    if (r.judges()) ++counts[r.row.source];
  std::vector<Residual> residuals;
  for (const TrainingMemoryRow& r : rows) {
    if (!r.judges() || r.row.source == judged) continue;
    const Bytes predicted = predicted_memory(r, without({judged, r.row.source}));
    residuals.push_back({predicted,
                         std::clamp(std::log(predicted / r.measured), -kMostLog, kMostLog),
                         1 / std::sqrt(counts[r.row.source])});
  }
  if (residuals.empty()) return {};
  const auto at = [](const Parameters& x) {
    return MemoryError{std::exp(x[0]), gigabytes(std::exp(x[1]))};
  };
  const auto unlikeliness = [&](const Parameters& x) {
    double sum = 0;
    for (const Residual& r : residuals) {
      const double sd = at(x).share(r.predicted);
      sum += r.weight * (std::log(sd) + 0.5 * r.log * r.log / (sd * sd));
    }
    return sum;
  };
  return at(minimise(unlikeliness, {std::log(0.1), 0}, {{std::log(0.01), -3}, {0, 3}},
                     {.step = 0.3, .evaluations = kMostEvaluations}));
}

}  // namespace

std::vector<TrainingMemoryRow> read_training_memory(const std::filesystem::path& dir,
                                                    const Bundle& bundle,
                                                    std::vector<RefusedRow>& refused) {
  const Catalog catalog(bundle);
  std::vector<TrainingMemoryRow> out;
  for (TrainingRow& row : read_training_rows(dir, catalog, bundle)) {
    if (!row.memory_gb && !row.oom) continue;
    if (!row.refused.empty()) {
      refused.push_back({row.name(), row.refused});
      continue;
    }
    TrainingMemoryRow m;
    m.stack = load_training_memory(row.stack.name, bundle);
    if (row.compiled || (row.stack.loss_fuses_all && row.job.fused_cross_entropy))
      m.stack.fused = true;
    // Since 2025 torchtitan compiles its loss as well.
    if (has(row.framework, "torchtitan") && row.compiled && row.stack.year >= 2025)
      row.job.fused_cross_entropy = true;
    m.gpu = catalog.gpu(row.gpu);
    m.reading = reading_of(row.memory_kind);
    if (row.memory_gb) m.measured = *row.memory_gb * unit_of(row);
    m.described = is_described(row);
    m.row = std::move(row);
    out.push_back(std::move(m));
  }
  return out;
}

Bytes predicted_memory(const TrainingMemoryRow& row,
                       const TrainingMemoryConstants::Fitted& constants) {
  const TrainingMemory m = memory_of(row, constants);
  switch (row.reading) {
    case MemoryReading::kAllocated:
      return m.allocated();
    case MemoryReading::kReserved:
      return m.reserved();
    case MemoryReading::kDevice:
      return m.total();
  }
  return Bytes(0);
}

TrainingMemoryConstants::Fitted fit_training_memory(const std::vector<TrainingMemoryRow>& rows) {
  Fit fit;
  std::map<std::string, int> counts;
  for (const TrainingMemoryRow& r : rows) {
    if (!r.judges()) continue;
    fit.rows.push_back(&r);
    ++counts[r.row.source];
  }
  if (fit.rows.empty()) return {};
  for (const auto& [source, n] : counts) fit.weight[source] = 1 / std::sqrt(n);
  return at(minimise([&](const Parameters& x) { return fit.loss(x); }, {0, 0, 0},
                     equal_bounds(3, -1.6, 1.6),
                     {.step = 0.3, .evaluations = kMostEvaluations, .relative_tolerance = 1e-4}));
}

LeftOutMemory leave_sources_out(const std::vector<TrainingMemoryRow>& rows) {
  FitsWithout without(rows);
  std::map<std::string, MemoryError> errors;
  LeftOutMemory out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& source = rows[i].row.source;
    const auto [error, added] = errors.try_emplace(source);
    if (added) error->second = error_without(source, rows, without);
    const TrainingMemoryConstants::Fitted& constants = without({source});
    out.rows.push_back({i, predicted_memory(rows[i], constants), error->second,
                        fit_probability(memory_of(rows[i], constants), error->second)});
  }
  out.error = error_without("", rows, without);
  return out;
}

FitChances fit_chances(const std::vector<TrainingMemoryRow>& rows, const LeftOutMemory& left_out) {
  FitChances c;
  for (const LeftOutMemory::Prediction& p : left_out.rows) {
    const TrainingMemoryRow& r = rows[p.row];
    if (!r.row.oom && !r.described) continue;
    c.brier += (p.fits - (r.row.oom ? 0 : 1)) * (p.fits - (r.row.oom ? 0 : 1));
    ++(r.row.oom ? c.ran_out : c.ran);
    if (p.fits < 0.5) ++(r.row.oom ? c.recognised : c.refused);
  }
  c.brier /= std::max(1, c.ran_out + c.ran);
  return c;
}

ValidationReport validate_training_memory(const std::filesystem::path& dir,
                                          const std::string& table, const Bundle& bundle,
                                          ConstantsChoice constants) {
  ValidationReport report;
  report.area = "training-memory";
  const bool committed = constants == ConstantsChoice::kCommitted;
  if (committed) report.note = kInSample;
  const std::vector<TrainingMemoryRow> rows = read_training_memory(dir, bundle, report.refused);
  const LeftOutMemory left_out = committed ? LeftOutMemory() : leave_sources_out(rows);
  TrainingScenarios scenarios(bundle);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TrainingMemoryRow& r = rows[i];
    if (r.measured <= Bytes(0)) continue;
    const std::string name = r.described ? "training_memory" : "training_memory_undescribed";
    if (!table.empty() && table != name) continue;
    const Bytes predicted =
        committed ? predicted_memory(r, r.stack.fitted) : left_out.rows[i].predicted;
    const double error =
        (committed ? r.stack.fitted.error : left_out.rows[i].error).share(predicted);
    ValidationRow v;
    v.by = {{"table", name}, {"metric", "memory_gb"}, {"source", r.row.source}};
    v.row = r.row.name();
    v.measured = r.measured.value() / 1e9;
    v.predicted = predicted.value() / 1e9;
    v.low50 = v.predicted * std::exp(-kInterval50 * error);
    v.high50 = v.predicted * std::exp(kInterval50 * error);
    v.low90 = v.predicted * std::exp(-kInterval90 * error);
    v.high90 = v.predicted * std::exp(kInterval90 * error);
    v.origin = Origin::kFitted;
    v.source = r.row.source;
    v.same = words_of(r.row);
    v.what = asked(r, scenarios);
    if (v.what.starts_with('{')) v.answer = metric_of(r.reading);
    report.rows.push_back(std::move(v));
  }
  return report;
}

std::string fit_training_memory(const std::filesystem::path& dir, const std::string& date,
                                const Bundle& bundle) {
  std::vector<RefusedRow> refused;
  const std::vector<TrainingMemoryRow> rows = read_training_memory(dir, bundle, refused);
  TrainingMemoryConstants::Fitted fitted = fit_training_memory(rows);
  const LeftOutMemory left_out = leave_sources_out(rows);
  fitted.error = left_out.error;
  std::vector<double> percent;
  double mean = 0;
  for (const LeftOutMemory::Prediction& p : left_out.rows) {
    const TrainingMemoryRow& r = rows[p.row];
    if (!r.judges()) continue;
    percent.push_back(100 * std::abs(p.predicted / r.measured - 1));
    mean += percent.back();
  }
  if (percent.empty()) throw NoData(fmt::format("{}: no row states its memory", dir.string()));
  mean /= static_cast<double>(percent.size());
  const FitChances chances = fit_chances(rows, left_out);
  return "# Made by `orrery fit training-memory`: do not edit.\n" +
         to_yaml(fitted,
                 fmt::format(
                     "data/training/iteration.csv, {} described rows, {}; each source left out in "
                     "turn: median {:.1f} %, mean {:.1f} %; of {} jobs that ran out of memory {} "
                     "recognised, of {} that ran {} refused",
                     percent.size(), date, quantile(percent, 0.5), mean, chances.ran_out,
                     chances.recognised, chances.ran, chances.refused));
}

}  // namespace orrery
