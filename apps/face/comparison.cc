#include "apps/face/comparison.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::face {
namespace {

using Json = nlohmann::ordered_json;

// The simulation of the load of one run.
Answer simulated(const Node& document, const ServiceResult& measured, Runner& runner,
                 bool intervals, WorkMeter* meter) {
  ScenarioSweep sweep = read_scenario(all_kinds(), document);
  for (Scenario& scenario : sweep.points) {
    ServiceQuestion& service = scenario.ask<ServiceQuestion>();
    if (service.max_concurrency == 0) service.max_concurrency = measured.max_concurrency;
    service.rate = 1;
  }
  RunOptions options;
  options.load = &measured.load;
  options.intervals = intervals;
  options.meter = meter;
  return runner.run(sweep, options);
}

Comparison compared(const Node& document, const ServiceResult& measured, Runner& runner,
                    WorkMeter* meter) {
  const Answer answer = simulated(document, measured, runner, true, meter);
  const Point& point = answer.points.at(0);
  if (!point.feasibility.fits) throw Infeasible(point.feasibility.reason);
  return compare(measured, point, answer.resolved,
                 [&](const std::string& key, const std::string& value) {
                   Node changed = document;
                   set_path(changed, key, scalar_node(value, key));
                   return simulated(changed, measured, runner, false, meter).points.at(0);
                 });
}

Json json_of(const ComparedRun& run) {
  return {{"tool", run.measured.tool},
          {"run", run.measured.about},
          {"exact_load", run.measured.detail == LoadDetail::kRequests},
          {"figures", figures_json(run.comparison.figures)},
          {"causes", run.comparison.causes}};
}

}  // namespace

Json figures_json(const std::vector<ComparedFigure>& figures) {
  Json j = Json::object();
  for (const ComparedFigure& f : figures) {
    j[f.name] = {{"unit", f.predicted.unit},
                 {"measured", f.measured},
                 {"predicted", f.predicted.value},
                 {"interval90", {f.predicted.low90, f.predicted.high90}},
                 {"difference_percent", f.difference()},
                 {"within", f.within()}};
  }
  return j;
}

std::vector<ComparedRun> compare_service(const std::string& file, std::size_t run,
                                         const Node& document, const Bundle& bundle,
                                         WorkMeter* meter) {
  std::vector<ServiceResult> runs = read_service_results(file);
  if (run > runs.size())
    throw InputError(fmt::format("--run {}: {} has {} run{}", run, file, runs.size(),
                                 runs.size() == 1 ? "" : "s"));
  const std::size_t first = run > 0 ? run - 1 : 0;
  const std::size_t end = run > 0 ? run : runs.size();
  Runner runner(bundle);
  std::vector<ComparedRun> all;
  for (std::size_t i = first; i < end; ++i) {
    Comparison comparison = compared(document, runs[i], runner, meter);
    all.push_back({i + 1, runs.size(), std::move(runs[i]), std::move(comparison)});
  }
  return all;
}

std::string json_text(const std::vector<ComparedRun>& runs) {
  Json all = Json::array();
  for (const ComparedRun& run : runs) all.push_back(json_of(run));
  return (all.size() == 1 ? all.front() : all).dump(1) + "\n";
}

ComparedJob compare_training(const std::string& file, const Answer& answer) {
  if (answer.points.size() != 1)
    throw InputError("the log of a job: expected one layout to compare with, got a sweep");
  const Point& point = answer.points[0];
  if (!point.feasibility.fits && point.metrics.empty()) throw Infeasible(point.feasibility.reason);
  ComparedJob job{read_training_log(file), "", {}};
  const std::int64_t asked = point.at.value("global_batch", std::int64_t{0});
  if (job.log.global_batch && *job.log.global_batch != asked)
    job.contradiction =
        fmt::format("the log has {} sequences a step, the question {}: --global-batch {}",
                    *job.log.global_batch, asked, *job.log.global_batch);
  job.figures = compare(job.log, point);
  return job;
}

std::string json_text(const ComparedJob& job) {
  Json j = {{"tool", job.log.tool}, {"steps", job.log.steps}};
  if (!job.contradiction.empty()) j["note"] = job.contradiction;
  j["figures"] = figures_json(job.figures);
  return j.dump(1) + "\n";
}

}  // namespace orrery::face
