#include "orrery/validate/judge/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/kernel/tiers/layer_times.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/steps/step_clock.h"
#include "orrery/validate/fit/service_folds.h"
#include "orrery/validate/rows/engine_run.h"
#include "orrery/validate/rows/inference_rows.h"

namespace orrery {
namespace {

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

struct Figures {
  std::vector<double> ttft, tpot, e2e;  // of requests, ms
  void add(double first, double last, std::int64_t output) {
    ttft.push_back(first * 1e3);
    e2e.push_back(last * 1e3);
    if (output > 1) tpot.push_back((last - first) / static_cast<double>(output - 1) * 1e3);
  }
};

// The figures of the run with every step shifted by `deviations` standard deviations of its error.
Figures simulated(const EngineRun& run, const RequestLoad& load, double deviations) {
  StepClock clock(run.steps(), {1, deviations});
  const SimulationResult r = simulate(run.config(), load, clock);
  Figures f;
  for (const RequestRecord& q : r.records) {
    if (q.outcome == Outcome::kDone) f.add(q.ttft().value(), q.e2e().value(), q.output);
  }
  return f;
}

// `table`: the name of the table in the report.
void validate_run(const EngineRun& run, const std::string& table, ValidationReport& report) {
  std::vector<RunRequest> requests = run.requests;
  std::sort(requests.begin(), requests.end(),
            [](const RunRequest& a, const RunRequest& b) { return a.queued < b.queued; });
  RequestLoad load;
  Figures measured;
  for (const RunRequest& r : requests) {
    Request q;
    q.arrival = sim_seconds(r.queued);
    q.input = static_cast<std::int32_t>(r.input);
    q.output = static_cast<std::int32_t>(r.output);
    load.requests.push_back(q);
    measured.add(r.first - r.queued, r.last - r.queued, r.output);
  }
  const auto error = run.steps().time({{{32, 1, 1024}}}).total;
  const auto at = [&](double p) { return simulated(run, load, normal_quantile(p)); };
  const Figures predicted = simulated(run, load, 0);
  const Figures low50 = at(0.25), high50 = at(0.75), low90 = at(0.05), high90 = at(0.95);
  const auto row = [&](const char* metric, auto of, Origin origin) {
    ValidationRow v;
    v.by = {{"table", table},
            {"metric", metric},
            {"system", run.gpu.id},
            {"engine", run.served().deployment.engine.id},
            {"fitted", "no"}};
    v.row = table + ":" + metric;
    v.measured = of(measured);
    v.predicted = of(predicted);
    v.low50 = of(low50), v.high50 = of(high50), v.low90 = of(low90), v.high90 = of(high90);
    v.origin = origin;
    v.what = table + ": every request has the arrival, the length and the settings of the run";
    report.rows.push_back(std::move(v));
  };
  row("ttft mean", [](const Figures& f) { return mean(f.ttft); }, error.origin);
  row("ttft p99", [](const Figures& f) { return quantile(f.ttft, 0.99); }, error.origin);
  row("tpot mean", [](const Figures& f) { return mean(f.tpot); }, error.origin);
  row("tpot p99", [](const Figures& f) { return quantile(f.tpot, 0.99); }, error.origin);
  row("e2e mean", [](const Figures& f) { return mean(f.e2e); }, error.origin);
  row("e2e p99", [](const Figures& f) { return quantile(f.e2e, 0.99); }, error.origin);
  if (!run.kv_blocks) return;
  const double blocks = static_cast<double>(run.memory().kv_blocks());
  report.rows.push_back({{{"table", table},
                          {"metric", "KV blocks"},
                          {"system", run.gpu.id},
                          {"engine", run.served().deployment.engine.id},
                          {"fitted", "no"}},
                         table + ":KV blocks",
                         static_cast<double>(*run.kv_blocks),
                         blocks,
                         blocks,
                         blocks,
                         blocks,
                         blocks,
                         Origin::kAnalytical});
}

// The relative intervals of a closed form instead of those of three simulations.
Metric with_intervals_of(Metric m, const Metric& closed) {
  const double scale = m.value / closed.value;
  m.low50 = closed.low50 * scale, m.high50 = closed.high50 * scale;
  m.low90 = closed.low90 * scale, m.high90 = closed.high90 * scale;
  return m;
}

// The rate of `requests` requests with random arrivals, in one run. Its interval is that of the
// question's own arrivals. A measured run has others, whose duration varies by 1/sqrt(requests).
Metric with_random_arrivals(Metric m, double requests) {
  const double sigma = 1 / std::sqrt(requests);
  for (double* bound : {&m.low50, &m.high50, &m.low90, &m.high90}) {
    const bool half = bound == &m.low50 || bound == &m.high50;
    const double own = std::log(*bound / m.value);
    const double both = std::hypot(own, normal_quantile(half ? 0.75 : 0.95) * sigma);
    *bound = m.value * std::exp(bound == &m.low50 || bound == &m.low90 ? -both : both);
  }
  return m;
}

const Metric& metric_of(const Answer& answer, const std::string& name) {
  const Metric* m = answer.points.at(0).find(name);
  if (!m) throw NoData(fmt::format("the answer has no {}", name));
  return *m;
}

// A runner for each group of rows that a fit of services has seen, with the constants of the fit
// without that group, and one with the constants as they are for all other rows.
class FoldRunners {
 public:
  struct Choice {
    Runner* runner;
    const char* fitted;  // on the row's group: "left out", "yes" or "no"
  };
  FoldRunners(const Bundle& bundle, ConstantsChoice constants)
      : bundle_(bundle), constants_(constants), all_(bundle) {}

  Runner& all() { return all_; }
  Choice of(const MeasuredRow& row) {
    const std::string gpu_class(all_.catalog().gpu(row.system).architecture.engine_class);
    const std::string fold = service_fold_of(row);
    std::unique_ptr<Runner>& runner = folds_[row.engine + " " + fold];
    if (!runner) {
      if (const auto without = bundle_without(bundle_, row.engine, gpu_class, fold))
        runner = std::make_unique<Runner>(*without);
    }
    if (!runner) return {&all_, "no"};
    if (constants_ == ConstantsChoice::kCommitted) return {&all_, "yes"};
    return {runner.get(), "left out"};
  }

 private:
  const Bundle& bundle_;
  const ConstantsChoice constants_;
  Runner all_;
  std::map<std::string, std::unique_ptr<Runner>> folds_;
};

void validate_rows(const std::vector<MeasuredRow>& rows, FoldRunners& runners,
                   ValidationReport& report) {
  for (const MeasuredRow& row : rows) {
    try {
      const auto& [runner, fitted] = runners.of(row);
      const bool closed = row.is_closed_loop();
      const ScenarioKeys asked = closed ? simulated_service(row) : row.keys;
      RunOptions options;
      options.breakdown = false;
      options.intervals = !closed;
      const Answer answer = runner->run(asked.scenario(), options);
      if (const Point& p = answer.points.at(0); !p.feasibility.fits)
        throw Infeasible(p.feasibility.reason);
      const Answer form = closed ? runner->run(row.keys.scenario(), options) : Answer();
      for (const MeasuredFigure& figure : row.figures) {
        Metric m = metric_of(answer, figure.answer_name);
        if (closed) m = with_intervals_of(m, metric_of(form, figure.answer_name));
        if (!row.keys.text("load.rate").empty() && figure.answer_name == "request_throughput")
          m = with_random_arrivals(m, static_cast<double>(row.keys.number("load.requests")));
        report.rows.push_back(report_row(row, figure, m, asked));
        // The constants of services are fitted on closed loops alone.
        if (closed) report.rows.back().by["fitted"] = fitted;
      }
    } catch (const std::runtime_error& e) {
      report.refused.push_back({row.reference, e.what()});
    }
  }
}

}  // namespace

ValidationReport predicted_services(const std::vector<MeasuredRow>& rows, const Bundle& bundle,
                                    ConstantsChoice constants) {
  ValidationReport report;
  report.area = "serving";
  FoldRunners runners(bundle, constants);
  validate_rows(rows, runners, report);
  return report;
}

ValidationReport validate_serving(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle, ConstantsChoice constants) {
  ValidationReport report;
  report.area = "serving";
  if (constants == ConstantsChoice::kCommitted) report.note = kInSample;
  FoldRunners runners(bundle, constants);
  bool any = false;
  for (const char* known : {"serving_steady", "serving_rate"}) {
    if (!table.empty() && table != known) continue;
    if (has_table(dir / fmt::format("{}.csv", known), report)) {
      std::vector<MeasuredRow> rows;
      read_inference_rows(dir, known, runners.all().catalog(), rows, report.refused);
      validate_rows(rows, runners, report);
      any = true;
    }
    if (!table.empty()) return report;
  }
  const std::filesystem::path below = dir / "request_level";
  if (table.empty() && any && !has_table(below, report)) return report;
  const std::string only = table == "request_level" ? "" : table;
  for (const auto& run : run_folders(std::filesystem::is_directory(below) ? below : dir, only)) {
    try {
      const EngineRun as_is(run, bundle);
      validate_run(as_is, as_is.name, report);
      // The same engine without the layers that were measured on this GPU.
      if (bundle.find(layer_times_path(as_is.gpu.id))) {
        const EngineRun transferred(run, bundle.replacing("layers", {}));
        validate_run(transferred, as_is.name + " (transferred)", report);
      }
    } catch (const NoData& e) {
      report.refused.push_back({run.filename().string(), e.what()});
    } catch (const Infeasible& e) {
      report.refused.push_back({run.filename().string(), e.what()});
    }
  }
  return report;
}

}  // namespace orrery
