// orrery compare: a real service's result beside the simulation of the same load.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/flags.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/scenario/runner.h"
#include "orrery/scenario/service_result.h"

namespace orrery::cli {
namespace {

struct Verb {
  explicit Verb(CLI::App& app) : flags(app, ScenarioFlags::Of::kService) {}
  ScenarioFlags flags;
  std::string file, output = "table";
};

void print_json(const ServiceResult& measured, const Comparison& c) {
  nlohmann::ordered_json j = {{"tool", measured.tool}, {"exact_load", measured.exact_load}};
  for (const ComparedFigure& f : c.figures) {
    j["figures"][f.name] = {{"unit", f.unit},
                            {"measured", f.measured},
                            {"predicted", f.predicted.value},
                            {"interval90", {f.predicted.low90, f.predicted.high90}},
                            {"difference_percent", f.difference()},
                            {"within", f.within()}};
  }
  j["causes"] = c.causes;
  fmt::print("{}\n", j.dump(1));
}

void print_table(const ServiceResult& measured, const Comparison& c) {
  fmt::print("{:<20} {:>10} {:>10} {:<9} {:>7}  {}\n", "", "measured", "predicted", "", "diff",
             "90 % interval");
  for (const ComparedFigure& f : c.figures) {
    fmt::print("{:<20} {:>10} {:>10} {:<9} {:>+6.1f}%  {}{}\n", f.name, number(f.measured),
               number(f.predicted.value), f.unit, f.difference(), interval90(f.predicted),
               f.within() ? "" : " *");
  }
  fmt::print("* outside the interval\n");
  if (!measured.exact_load)
    fmt::print("The file has no single requests: a load of the same mean lengths was simulated.\n");
  for (const std::string& cause : c.causes) fmt::print("- {}\n", cause);
}

}  // namespace

void add_compare(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "compare", "a load generator's result on a real service beside its simulation");
  app->footer(
      "Examples:\n"
      "  orrery compare result.json --model llama-3-8b --gpu h100-sxm --tp 1\n"
      "RESULT: vLLM's `bench serve --save-result [--save-detailed]`, AIPerf's\n"
      "profile_export.jsonl or profile_export_aiperf.json, or GuideLLM's\n"
      "benchmarks.json. The log of a training job: orrery train --log.");
  auto verb = std::make_shared<Verb>(*app);
  app->add_option("RESULT", verb->file, "the result file")->required();
  app->add_option("-o,--output", verb->output, "table or json [table]")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->callback([verb, &context] {
    const ServiceResult measured = read_service_result(verb->file);
    Scenario scenario = verb->flags.scenario();
    if (scenario.service.max_concurrency == 0)
      scenario.service.max_concurrency = measured.max_concurrency;
    scenario.service.rate = {1};
    RunOptions options;
    options.load = &measured.load;
    Runner runner(context.bundle());
    const Answer answer = runner.run(scenario, options);
    const Point& point = answer.points.at(0);
    if (!point.feasibility.fits) throw Infeasible(point.feasibility.reason);
    const Comparison c = compare(measured, point);
    verb->output == "json" ? print_json(measured, c) : print_table(measured, c);
  });
}

}  // namespace orrery::cli
