#include "orrery/validate/fit/fit_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "orrery/base/estimate.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/validate/fit/service_constants.h"
#include "orrery/validate/fit/service_errors.h"
#include "orrery/validate/fit/service_folds.h"
#include "orrery/validate/fit/service_judged.h"
#include "orrery/validate/fit/service_texts.h"
#include "orrery/validate/fit/service_trust.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

constexpr std::size_t kLeastRows = 6, kMostRows = 48, kMostDistrusted = 24, kLeastGroups = 3;
constexpr int kRounds = 2, kPasses = 2, kGrid = 9, kHalvings = 4;
constexpr double kServiceHuber = 0.5;  // logarithmic error beyond which a row pulls no harder
// Loss for each constant's distance from where it started, by the logarithm. A constant that moves
// by a factor of e must improve the mean error of a row by 1 %.
constexpr double kServicePull = 0.01;
constexpr double kTtftWeight = 0.4;  // of a TTFT relative to a TPOT

constexpr const char* kFittedFigures[2] = {"tpot", "ttft"};

struct Row {
  MeasuredRow row;
  std::string left_out_with;  // model and system
  std::size_t gpu_class = 0;  // of the fit
  bool fitted = true;         // not distrusted()
  double weight = 1;
  // log(simulated / closed form) of TPOT and of TTFT, at the constants of the last round.
  std::optional<double> correction[2];
  // The last constants of its class, and the errors with them.
  std::vector<double> constants;
  ServiceFigures errors;
};

class ServiceFit {
 public:
  // `start`: the logarithms of the constants towards which the fit is pulled.
  ServiceFit(Runner& runner, std::vector<Row> rows, std::vector<double> start)
      : runner_(runner),
        rows_(std::move(rows)),
        start_(std::move(start)),
        shapes_(std::any_of(rows_.begin(), rows_.end(), [](const Row& r) {
          return r.row.keys.engine_text("execution.new_shapes") == "true";
        })) {}

  // Whether the rows have constants of ServiceConstant::shapes.
  bool shapes() const { return shapes_; }

  std::vector<Row>& rows() { return rows_; }

  // Simulates the rows that are fitted, or all.
  void simulate(const std::vector<double>& x, bool all = false) {
    for (Row& r : rows_) {
      if (!all && !r.fitted) continue;
      set(r, x);
      r.constants.clear();
      for (auto& c : r.correction) c.reset();
      try {
        const Answer closed = runner_.run(r.row.keys.scenario(), options_);
        const Answer simulated = runner_.run(simulated_service(r.row).scenario(), options_);
        for (std::size_t i = 0; i < 2; ++i) {
          const Metric *a = closed.points.at(0).find(kFittedFigures[i]),
                       *b = simulated.points.at(0).find(kFittedFigures[i]);
          if (a && b && a->value > 0 && b->value > 0)
            r.correction[i] = std::log(b->value / a->value);
        }
      } catch (const std::runtime_error&) {
        continue;  // refused: `orrery validate` reports it
      }
    }
  }

  ServiceFigures errors(Row& r, const std::vector<double>& x) {
    const std::vector<double> constants = of_class(x, r.gpu_class);
    if (r.constants == constants) return r.errors;
    r.constants = constants;
    r.errors = {};
    if (!r.correction[0] && !r.correction[1]) return r.errors;
    set(r, x);
    const Answer closed = runner_.run(r.row.keys.scenario(), options_);
    for (std::size_t i = 0; i < 2; ++i) {
      const Metric* m = closed.points.at(0).find(kFittedFigures[i]);
      for (const MeasuredFigure& f : r.row.figures) {
        if (m && r.correction[i] && f.answer_name == kFittedFigures[i])
          r.errors[i] = std::log(m->value / f.value) + *r.correction[i];
      }
    }
    return r.errors;
  }

  // The left-out errors of row `r` at constants `x`, whose errors() are `errors`.
  LeftOut left_out(Row& r, const std::vector<double>& x, const ServiceFigures& errors) {
    if (!errors[0] && !errors[1]) return {};
    set(r, x);
    // Squared relative errors of both figures.
    const auto squared = [&](const char* step, const char* experts) {
      ScenarioKeys keys = r.row.keys;
      keys.set_engine("step_error", step);
      keys.set_engine("experts_error", experts);
      keys.set_engine("ttft_error", "0");
      const Answer answer = runner_.run(keys.scenario(), options_);
      std::array<double, 2> out{};
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (const Metric* m = answer.points.at(0).find(kFittedFigures[i]); m && m->value > 0)
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
      if (!r.fitted || r.left_out_with == left_out_) continue;
      const ServiceFigures e = errors(r, x);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!e[i]) continue;
        const double w = r.weight * (i == 1 ? kTtftWeight : 1);
        sum += w * log_tailed(*e[i], kServiceHuber);
        n += w;
      }
    }
    double pull = 0;
    for (std::size_t i = 0; i < x.size(); ++i) pull += kServicePull * std::abs(x[i] - start_[i]);
    return sum / std::max(n, 1.0) + pull;
  }

  // Fits the constants from the start `x`, without the rows of `left_out` (empty: with all rows).
  // Varies one constant after the other over its whole range, because most constants have no effect
  // until they exceed another time. Constants that too few groups determine stay at `x`.
  std::vector<double> fit(std::vector<double> x, const std::string& left_out) {
    left_out_ = left_out;
    const std::size_t n = kServiceConstants.size();
    for (std::size_t k = 0; k < kPasses * x.size(); ++k) {
      const std::size_t at = k % x.size();
      // Costs on the host are those of the first class.
      if (place(at / n, at % n) == at && determined(at)) vary(x, at);
    }
    return x;
  }

 private:
  // Whether enough groups that are not left out determine the constant at `at`: models with experts
  // those of experts, groups of all classes other costs on the host, groups of its class the rest.
  bool determined(std::size_t at) const {
    const ServiceConstant& c = kServiceConstants[at % kServiceConstants.size()];
    if (c.shapes && !shapes_) return false;
    std::set<std::string> groups;
    for (const Row& r : rows_) {
      if (!r.fitted || r.left_out_with == left_out_) continue;
      if (c.experts) {
        if (r.row.family.starts_with("moe")) groups.insert(r.row.keys.text("model"));
      } else if (c.host || r.gpu_class == at / kServiceConstants.size()) {
        groups.insert(r.left_out_with);
      }
    }
    return groups.size() >= kLeastGroups;
  }

  // Moves the constant at `at` to where the loss is least.
  void vary(std::vector<double>& x, std::size_t at) {
    const ServiceConstant& c = kServiceConstants[at % kServiceConstants.size()];
    const double least = std::log(c.least), most = std::log(c.most);
    double step = (most - least) / (kGrid - 1), best = x[at], best_loss = loss(x);
    const auto attempt = [&](double v) {
      if (v < least || v > most) return;
      x[at] = v;
      if (const double l = loss(x); l < best_loss) best_loss = l, best = v;
    };
    for (int k = 0; k < kGrid; ++k) attempt(least + step * k);
    for (int k = 0; k < kHalvings; ++k) {
      const double centre = best;
      step /= 2;
      attempt(centre - step);
      attempt(centre + step);
    }
    x[at] = best;
  }

  void set(Row& r, const std::vector<double>& x) const {
    for (std::size_t i = 0; i < kServiceConstants.size(); ++i)
      if (shapes_ || !kServiceConstants[i].shapes)
        r.row.keys.set_engine(
            kServiceConstants[i].key,
            service_text_of(kServiceConstants[i], std::exp(x[place(r.gpu_class, i)])));
  }

  Runner& runner_;
  std::vector<Row> rows_;
  std::vector<double> start_;
  bool shapes_;
  std::string left_out_;
  RunOptions options_ = [] {
    RunOptions o;
    o.breakdown = o.intervals = false;
    return o;
  }();
};

// At most `most` of the rows that are fitted, or of the others: as many of each model and system as
// there are, up to an equal share, at equal distances in the table.
std::vector<Row> sample(const std::vector<Row>& rows, bool fitted, std::size_t most) {
  std::map<std::string, std::vector<Row>> groups;
  for (const Row& r : rows)
    if (r.fitted == fitted) groups[r.left_out_with].push_back(r);
  std::vector<std::vector<Row>*> smallest_first;
  for (auto& [name, group] : groups) smallest_first.push_back(&group);
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::vector<Row> some;
  for (std::size_t g = 0; g < smallest_first.size(); ++g) {
    std::vector<Row>& group = *smallest_first[g];
    const std::size_t share = (most - some.size()) / (smallest_first.size() - g);
    const std::size_t n = std::min(group.size(), share);
    for (std::size_t i = 0; i < n; ++i) some.push_back(std::move(group[i * group.size() / n]));
  }
  return some;
}

// Fits the classes `fitted` of one engine, whose rows are `rows`. `x`: the start of the fit,
// replaced by its result.
JudgedClasses fit_classes(Runner& runner, std::vector<Row> rows,
                          std::vector<FittedServices>& fitted, std::vector<double>& x) {
  const std::vector<double> start = x;
  std::map<std::string, std::size_t> groups;
  std::size_t fits = 0;
  for (const Row& r : rows) groups[r.left_out_with] += r.fitted ? 1 : 0;
  for (Row& r : rows) {
    if (!r.fitted) continue;
    r.weight = 1 / std::sqrt(static_cast<double>(groups.at(r.left_out_with)));
    fitted[r.gpu_class].rows += 1;
    ++fits;
  }
  ServiceFit fit(runner, std::move(rows), x);
  JudgedClasses judged(fitted.size());
  for (int round = 0; round < kRounds; ++round) {
    fit.simulate(x);
    if (round == 0)
      for (Row& r : fit.rows())
        if (r.fitted) judged[r.gpu_class].before.add(fit.errors(r, x));
    x = fit.fit(x, "");
  }
  fit.simulate(x, true);
  for (Row& r : fit.rows())
    if (r.fitted) judged[r.gpu_class].after.add(fit.errors(r, x));
  for (const auto& [group, count] : groups) {
    const bool enough = fits - count >= kLeastRows;
    const std::vector<double> others = enough ? fit.fit(start, group) : start;
    for (Row& r : fit.rows()) {
      if (r.left_out_with != group) continue;
      JudgedClass& j = judged[r.gpu_class];
      j.without[group] = of_class(others, r.gpu_class);
      if (!enough) continue;
      const ServiceFigures errors = fit.errors(r, others);
      const LeftOut left_out = fit.left_out(r, others, errors);
      j.firsts[group].push_back(left_out);
      if (!r.fitted) continue;
      j.left_out.add(errors);
      j.rows[group].push_back(left_out);
    }
  }
  for (std::size_t c = 0; c < fitted.size(); ++c) {
    FittedServices& f = fitted[c];
    JudgedClass& j = judged[c];
    j.constants = of_class(x, c), j.shapes = fit.shapes();
    f.tpot_before = j.before.median(0), f.ttft_before = j.before.median(1);
    f.tpot_after = j.after.median(0), f.ttft_after = j.after.median(1);
    f.tpot_left_out = j.left_out.median(0), f.ttft_left_out = j.left_out.median(1);
  }
  return judged;
}

// The groups of rows, or those of models with experts.
std::set<std::string> groups_of(const std::vector<Row>& rows, bool experts) {
  std::set<std::string> groups;
  for (const Row& r : rows) {
    if (r.fitted && (!experts || r.row.family.starts_with("moe"))) groups.insert(r.left_out_with);
  }
  return groups;
}

// The classes of an engine, fitted together or one after the other.
void fit_engine(Runner& runner, std::map<std::string, std::vector<Row>> classes,
                const std::string& engine, const std::string& date,
                std::vector<FittedServices>& results) {
  bool together = false;
  std::vector<FittedServices> fitted;
  std::vector<Row> all;
  for (auto& [gpu_class, rows] : classes) {
    FittedServices f;
    f.engine = engine, f.gpu_class = gpu_class;
    std::vector<Row> others = sample(rows, false, kMostDistrusted);
    rows = sample(rows, true, kMostRows);
    f.rows = rows.size();
    rows.insert(rows.end(), others.begin(), others.end());
    for (Row& r : rows) r.gpu_class = fitted.size(), all.push_back(r);
    fitted.push_back(f);
    together |= classes.size() > 1 && groups_of(rows, true).size() < kLeastGroups;
  }
  std::vector<double> start = service_start(fitted.size());
  std::size_t fits = 0;
  for (FittedServices& f : fitted) fits += std::exchange(f.rows, 0);
  if (together && fits >= kLeastRows && groups_of(all, false).size() >= kLeastGroups) {
    write_texts(fit_classes(runner, std::move(all), fitted, start), date, fitted);
    results.insert(results.end(), fitted.begin(), fitted.end());
    return;
  }
  start.resize(kServiceConstants.size());
  JudgedClasses judged;
  std::string host;  // the class whose host constants `start` holds
  for (FittedServices& f : fitted) {
    std::vector<Row>& rows = classes.at(f.gpu_class);
    for (Row& r : rows) r.gpu_class = 0;
    const std::set<std::string> groups = groups_of(rows, false);
    const auto fitting = static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.fitted; }));
    std::vector<FittedServices> one = {f};
    std::vector<double> x = start;
    judged.emplace_back();
    if (fitting < kLeastRows) {
      one[0].skipped = fmt::format("{} rows, at least {} are needed", fitting, kLeastRows);
    } else if (groups.size() < kLeastGroups) {
      one[0].skipped = fmt::format("rows of {} only: at least {} models and systems are needed",
                                   fmt::join(groups, ", "), kLeastGroups);
    } else {
      judged.back() = std::move(fit_classes(runner, std::move(rows), one, x)[0]);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (kServiceConstants[i].host) start[i] = x[i];
      host = f.gpu_class;
    }
    if (!one[0].skipped.empty() && !host.empty()) one[0].yaml = host_text(host, start, date);
    f = std::move(one[0]);
  }
  write_texts(judged, date, fitted);
  results.insert(results.end(), fitted.begin(), fitted.end());
}

}  // namespace

std::vector<FittedServices> fit_services(const std::filesystem::path& dir, const std::string& date,
                                         const Bundle& bundle, const std::string& engine,
                                         PartMeter* meter) {
  if (!engine.empty()) load_engine(engine, bundle);  // an unknown name is an error
  Runner runner(bundle);
  std::vector<MeasuredRow> read;
  std::vector<RefusedRow> refused;
  read_inference_rows(dir, "serving_steady", runner.catalog(), read, refused);
  std::map<std::string, std::map<std::string, std::vector<Row>>> engines;  // by class of GPUs
  for (MeasuredRow& row : read) {
    const std::string gpu_class(runner.catalog().gpu(row.system).architecture.engine_class);
    if (gpu_class.empty() || row.engine == "vllm-2025") continue;  // its constants were chosen
    if (!engine.empty() && row.engine != engine) continue;
    Row r;
    r.left_out_with = service_fold_of(row);
    r.fitted = !distrusted(row);
    r.row = std::move(row);
    std::vector<Row>& rows = engines[r.row.engine][gpu_class];
    rows.push_back(std::move(r));
  }
  std::vector<FittedServices> results;
  for (const auto& [name, classes] : engines) expect_parts(meter, classes.size());
  for (auto& [name, classes] : engines) {
    const std::size_t parts = classes.size();
    fit_engine(runner, std::move(classes), name, date, results);
    finish_parts(meter, parts);
  }
  return results;
}

}  // namespace orrery
