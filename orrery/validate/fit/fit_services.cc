#include "orrery/validate/fit/fit_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "orrery/base/estimate.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/validate/fit/service_errors.h"
#include "orrery/validate/fit/service_folds.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

constexpr std::size_t kLeastRows = 6, kMostRows = 48, kLeastGroups = 3;
constexpr int kRounds = 2, kPasses = 2, kGrid = 9, kHalvings = 4;
constexpr double kServiceHuber = 0.5;  // logarithmic error beyond which a row pulls no harder
constexpr double kServicePull = 0.01;  // weight of a constant's distance from where it started
constexpr double kTtftWeight = 0.4;    // of a TTFT relative to a TPOT

// Keys of costs on the host, which do not depend on the GPU.
constexpr const char* kLaunch = "execution.launch";
constexpr const char* kMoeLayer = "execution.host_per_moe_layer";
constexpr const char* kRequest = "execution.request_overhead";

bool of_host(const std::string& key) {
  return key == kLaunch || key == kMoeLayer || key == kRequest;
}

// A constant of the fit, which varies its logarithm.
struct ServiceConstant {
  const char* key;   // below the profile
  const char* unit;  // empty: a plain factor
  double start, least, most;
};
const std::vector<ServiceConstant> kConstants = {
    // What a first token takes beside its steps: HTTP, the tokeniser, and the messages between the
    // processes of the engine. It delays first tokens alone, while a longer step also interrupts
    // the decodes of others, so that TTFT and TPOT tell both apart. Fitted first for that reason.
    {kRequest, "us", 3000, 1000, 300000},
    {"execution.host_per_step", "us", 500, 10, 8000},
    // The host time of experts is fitted before the launch of operators: if all models have
    // experts, the rows determine only the sum of both.
    {kMoeLayer, "us", 200, 10, 3000},
    // From the launch of one kernel to an operator of several kernels with its Python code. Lone
    // prompts of dense models set the upper end (tests/unit/scenario/lone_prompt_test.cc).
    {kLaunch, "us", 40, 2, 50},
    {"execution.collective_latency", "us", 0.5, 0.01, 20},
    // The kernels are measured, so that this factor covers unbalanced loads and small kernels only.
    {"kernels.moe_prefill_factor", "", 1, 0.8, 1.3},
    // This constant is fitted last, because it would otherwise absorb the errors of the others.
    {"execution.start_up", "us", 100000, 1000, 5000000},
};

// Rows that are not fitted (docs/reference/composition.md, section Rows that are not trusted).
bool distrusted(const MeasuredRow& row) {
  return (row.keys.text("model").starts_with("qwen3-235b") && row.engine != "sglang") ||
         row.engine == "vllm-2025" ||
         (row.engine == "sglang" && row.keys.number("workload.batch") >= 512);
}

using Constants = std::vector<ServiceConstant>;

// The constants that are fitted for engines with this profile. The overhead of a request can be
// told from longer steps only where prompts have steps of their own, which interrupt all decodes.
// Elsewhere the profile states it.
Constants constants_for(const EngineProfile& engine) {
  const bool apart =
      scheduler_kind(engine.scheduler.policy).traits.prompts != PromptSteps::kWithDecodes;
  Constants out;
  for (const ServiceConstant& c : kConstants) {
    if (apart || c.key != std::string_view(kRequest)) out.push_back(c);
  }
  return out;
}

std::string service_text_of(const ServiceConstant& c, double v) {
  return *c.unit ? fmt::format("{:.4g} {}", v, c.unit) : fmt::format("{:.4g}", v);
}

struct Row {
  MeasuredRow row;
  std::string left_out_with;  // model and system
  double weight = 1;
  // log(simulated / closed form) of TPOT and of TTFT, at the constants of the last round.
  std::optional<double> correction[2];
};

using Errors = std::array<std::optional<double>, 2>;  // log(predicted / measured): TPOT, TTFT
constexpr const char* kFigures[2] = {"tpot", "ttft"};

class ServiceFit {
 public:
  // `start`: the logarithms of the constants towards which the fit is pulled.
  ServiceFit(Runner& runner, const Constants& constants, std::vector<Row> rows,
             std::vector<double> start)
      : runner_(runner), constants_(constants), rows_(std::move(rows)), start_(std::move(start)) {}

  std::vector<Row>& rows() { return rows_; }

  void simulate(const std::vector<double>& x) {
    for (Row& r : rows_) {
      set(r.row.keys, x);
      for (auto& c : r.correction) c.reset();
      try {
        const Answer closed = runner_.run(r.row.keys.scenario(), options_);
        const Answer simulated = runner_.run(simulated_service(r.row).scenario(), options_);
        for (std::size_t i = 0; i < 2; ++i) {
          const Metric *a = closed.points.at(0).find(kFigures[i]),
                       *b = simulated.points.at(0).find(kFigures[i]);
          if (a && b && a->value > 0 && b->value > 0)
            r.correction[i] = std::log(b->value / a->value);
        }
      } catch (const std::runtime_error&) {
        continue;  // refused: `orrery validate` reports it
      }
    }
  }

  Errors errors(Row& r, const std::vector<double>& x) {
    Errors out;
    if (!r.correction[0] && !r.correction[1]) return out;
    set(r.row.keys, x);
    const Answer closed = runner_.run(r.row.keys.scenario(), options_);
    for (std::size_t i = 0; i < 2; ++i) {
      const Metric* m = closed.points.at(0).find(kFigures[i]);
      for (const MeasuredFigure& f : r.row.figures) {
        if (m && r.correction[i] && f.answer_name == kFigures[i])
          out[i] = std::log(m->value / f.value) + *r.correction[i];
      }
    }
    return out;
  }

  // The left-out errors of row `r` at constants `x`, whose errors() are `errors`.
  LeftOut left_out(Row& r, const std::vector<double>& x, const Errors& errors) {
    if (!errors[0] && !errors[1]) return {};
    set(r.row.keys, x);
    // Squared relative errors of both figures.
    const auto squared = [&](const char* step, const char* experts) {
      ScenarioKeys keys = r.row.keys;
      keys.set_engine("step_error", step);
      keys.set_engine("experts_error", experts);
      keys.set_engine("ttft_error", "0");
      const Answer answer = runner_.run(keys.scenario(), options_);
      std::array<double, 2> out{};
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (const Metric* m = answer.points.at(0).find(kFigures[i]); m && m->value > 0)
          out[i] = std::pow(std::log(m->high90 / m->value) / normal_quantile(0.95), 2);
      }
      return out;
    };
    // A step's error of the usual size: own errors of its kernels beside it add in quadrature.
    constexpr double kStep = 0.1;
    const auto kernels = squared("0", "0"), step = squared(fmt::format("{}", kStep).c_str(), "0"),
               experts = squared("0", "1");
    const auto figure = [&](std::size_t i) -> std::optional<LeftOutFigure> {
      if (!errors[i]) return {};
      return LeftOutFigure{*errors[i], kernels[i], (step[i] - kernels[i]) / (kStep * kStep),
                           experts[i] - kernels[i]};
    };
    return {figure(0), figure(1)};
  }

  double loss(const std::vector<double>& x) {
    double sum = 0, n = 0;
    for (Row& r : rows_) {
      if (r.left_out_with == left_out_) continue;
      const Errors e = errors(r, x);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!e[i]) continue;
        const double w = r.weight * (i == 1 ? kTtftWeight : 1);
        sum += w * log_tailed(*e[i], kServiceHuber);
        n += w;
      }
    }
    double pull = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      pull += kServicePull * std::abs(x[i] - start_[i]) / static_cast<double>(x.size());
    return sum / std::max(n, 1.0) + pull;
  }

  // Fits the constants from the start `x`, without the rows of `left_out` (empty: with all rows).
  // Varies one constant after the other over its whole range, because most constants have no effect
  // until they exceed another time.
  std::vector<double> fit(std::vector<double> x, const std::string& left_out) {
    left_out_ = left_out;
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::size_t i = 0; i < constants_.size(); ++i) {
        const double least = std::log(constants_[i].least), most = std::log(constants_[i].most);
        double step = (most - least) / (kGrid - 1), best = x[i], best_loss = loss(x);
        const auto attempt = [&](double v) {
          if (v < least || v > most) return;
          std::vector<double> at = x;
          at[i] = v;
          if (const double l = loss(at); l < best_loss) best_loss = l, best = v;
        };
        for (int k = 0; k < kGrid; ++k) attempt(least + step * k);
        for (int k = 0; k < kHalvings; ++k) {
          const double centre = best;
          step /= 2;
          attempt(centre - step);
          attempt(centre + step);
        }
        x[i] = best;
      }
    }
    return x;
  }

 private:
  void set(ScenarioKeys& keys, const std::vector<double>& x) const {
    for (std::size_t i = 0; i < constants_.size(); ++i)
      keys.set_engine(constants_[i].key, service_text_of(constants_[i], std::exp(x[i])));
  }

  Runner& runner_;
  const Constants& constants_;
  std::vector<Row> rows_;
  std::vector<double> start_;
  std::string left_out_;
  RunOptions options_ = [] {
    RunOptions o;
    o.breakdown = o.intervals = false;
    return o;
  }();
};

// Absolute errors of both figures, in percent.
struct Percents {
  std::vector<double> of[2];
  void add(const Errors& e) {
    for (std::size_t i = 0; i < 2; ++i)
      if (e[i]) of[i].push_back(100 * std::abs(std::expm1(*e[i])));
  }
  double median(std::size_t i) const { return of[i].empty() ? 0 : quantile(of[i], 0.5); }
};

constexpr const char* kMade =
    "# Made by `orrery fit services` from data/inference/serving_steady on {}: do not edit.\n";

// The constants `x` and the errors.
std::string constants_of(const Constants& constants, const ServiceErrors& errors,
                         const std::vector<double>& x) {
  std::string out;
  for (const char* group : {"execution", "kernels"}) {
    out += fmt::format("{}:\n", group);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string key = constants[i].key;
      const std::size_t dot = key.find('.');
      if (key.substr(0, dot) == group)
        out += fmt::format("  {}: {}\n", key.substr(dot + 1),
                           service_text_of(constants[i], std::exp(x[i])));
    }
  }
  return out + errors.yaml();
}

std::string recipe(const FittedServices& f, const Constants& constants,
                   const std::vector<double>& x, const std::string& date) {
  const std::string out = fmt::format(
      "{}# {} rows of the groups that fit (the others judge). Median error of TPOT {:.1f} % "
      "before, {:.1f} % after,\n"
      "# {:.1f} % with the row's model and system left out; of TTFT {:.1f} %, {:.1f} %, {:.1f} "
      "%.\n",
      fmt::format(kMade, date), f.rows, f.tpot_before, f.tpot_after, f.tpot_left_out, f.ttft_before,
      f.ttft_after, f.ttft_left_out);
  return out + constants_of(constants, f.errors, x);
}

// The host's constants `x` of the engine on GPUs of class `fitted_on`.
std::string host_recipe(const std::string& fitted_on, const Constants& constants,
                        const std::vector<double>& x, const std::string& date) {
  std::string out =
      fmt::format(kMade, date) +
      fmt::format("# The host's part of what was fitted on {}.\nexecution:\n", fitted_on);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string key = constants[i].key;
    if (of_host(key))
      out += fmt::format("  {}: {}\n", key.substr(key.find('.') + 1),
                         service_text_of(constants[i], std::exp(x[i])));
  }
  return out;
}

// At most kMostRows rows: as many of each model and system as there are, up to an equal share, at
// equal distances in the table.
std::vector<Row> sample(std::vector<Row> rows) {
  std::map<std::string, std::vector<Row>> groups;
  for (Row& r : rows) groups[r.left_out_with].push_back(std::move(r));
  std::vector<std::vector<Row>*> smallest_first;
  for (auto& [name, group] : groups) smallest_first.push_back(&group);
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::vector<Row> some;
  for (std::size_t g = 0; g < smallest_first.size(); ++g) {
    std::vector<Row>& group = *smallest_first[g];
    const std::size_t share = (kMostRows - some.size()) / (smallest_first.size() - g);
    const std::size_t n = std::min(group.size(), share);
    for (std::size_t i = 0; i < n; ++i) some.push_back(std::move(group[i * group.size() / n]));
  }
  return some;
}

// `x`: the start of the fit, replaced by its result.
FittedServices fit_class(Runner& runner, const Constants& constants, std::vector<Row> rows,
                         FittedServices f, const std::string& date, std::vector<double>& x) {
  const std::vector<double> start = x;
  std::vector<Row> some = sample(std::move(rows));
  f.rows = some.size();
  std::map<std::string, double> groups;
  for (const Row& r : some) groups[r.left_out_with] += 1;
  for (Row& r : some) r.weight = 1 / std::sqrt(groups.at(r.left_out_with));
  ServiceFit fit(runner, constants, std::move(some), x);
  Percents before, after, left_out;
  for (int round = 0; round < kRounds; ++round) {
    fit.simulate(x);
    if (round == 0)
      for (Row& r : fit.rows()) before.add(fit.errors(r, x));
    x = fit.fit(x, "");
  }
  fit.simulate(x);
  for (Row& r : fit.rows()) after.add(fit.errors(r, x));
  std::map<std::string, std::vector<double>> without;  // constants, by the group that is left out
  std::map<std::string, std::vector<LeftOut>> left_out_rows;
  for (const auto& [group, count] : groups) {
    without[group] = start;
    if (fit.rows().size() - static_cast<std::size_t>(count) < kLeastRows) continue;  // no fit
    const std::vector<double> others = without[group] = fit.fit(x, group);
    for (Row& r : fit.rows()) {
      if (r.left_out_with != group) continue;
      const Errors errors = fit.errors(r, others);
      left_out.add(errors);
      left_out_rows[group].push_back(fit.left_out(r, others, errors));
    }
  }
  const auto errors_without = [&](const std::string& skipped) {
    std::vector<LeftOut> judged;
    for (const auto& [group, rows_of_group] : left_out_rows) {
      if (group != skipped) judged.insert(judged.end(), rows_of_group.begin(), rows_of_group.end());
    }
    return ask_errors(judged);
  };
  f.errors = errors_without("");
  std::map<std::string, std::string> folds;
  for (const auto& [group, others] : without)
    folds[group] = constants_of(constants, errors_without(group), others);
  f.folds = fmt::format(kMade, date) + service_folds_text(folds);
  f.tpot_before = before.median(0), f.ttft_before = before.median(1);
  f.tpot_after = after.median(0), f.ttft_after = after.median(1);
  f.tpot_left_out = left_out.median(0), f.ttft_left_out = left_out.median(1);
  f.yaml = recipe(f, constants, x, date);
  return f;
}

}  // namespace

std::vector<FittedServices> fit_services(const std::filesystem::path& dir, const std::string& date,
                                         const Bundle& bundle, const std::string& engine) {
  if (!engine.empty()) load_engine(engine, bundle);  // an unknown name is an error
  Runner runner(bundle);
  std::vector<MeasuredRow> read;
  std::vector<RefusedRow> refused;
  read_inference_rows(dir, "serving_steady", runner.catalog(), read, refused);
  std::map<std::pair<std::string, std::string>, std::vector<Row>> classes;
  for (MeasuredRow& row : read) {
    const std::string gpu_class(engine_gpu_class(runner.catalog().gpu(row.system)));
    if (gpu_class.empty() || !fits_engines(row.group) || distrusted(row)) continue;
    if (!engine.empty() && row.engine != engine) continue;
    Row r;
    r.left_out_with = service_fold_of(row);
    r.row = std::move(row);
    classes[{r.row.engine, gpu_class}].push_back(std::move(r));
  }
  std::vector<FittedServices> results;
  std::map<std::string, std::pair<std::string, std::vector<double>>> hosts;  // by engine
  for (auto& [key, rows] : classes) {
    FittedServices f;
    std::tie(f.engine, f.gpu_class) = key;
    const auto host = hosts.find(f.engine);
    std::vector<double> x;
    const Constants constants = constants_for(load_engine(f.engine, bundle));
    for (std::size_t i = 0; i < constants.size(); ++i)
      x.push_back(host != hosts.end() && of_host(constants[i].key) ? host->second.second[i]
                                                                   : std::log(constants[i].start));
    f.rows = rows.size();
    std::set<std::string> groups;
    for (const Row& r : rows) groups.insert(r.left_out_with);
    if (rows.size() < kLeastRows) {
      f.skipped = fmt::format("{} rows, at least {} are needed", rows.size(), kLeastRows);
    } else if (groups.size() < kLeastGroups) {
      f.skipped = fmt::format("rows of {} only: at least {} models and systems are needed",
                              fmt::join(groups, ", "), kLeastGroups);
    } else {
      f = fit_class(runner, constants, std::move(rows), std::move(f), date, x);
      hosts[f.engine] = {f.gpu_class, x};
    }
    if (!f.skipped.empty() && host != hosts.end())
      f.yaml = host_recipe(host->second.first, constants, host->second.second, date);
    results.push_back(std::move(f));
  }
  return results;
}

}  // namespace orrery
