// orrery compare: a real service's result beside the simulation of the same load.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/scenario/measured/service_result.h"
#include "orrery/scenario/measured/training_log.h"
#include "orrery/scenario/runner/runner.h"

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

bool has_flag(const CLI::App& program, const char* verb, const std::string& flag) {
  return program.get_subcommand(verb)->get_option_no_throw(flag) != nullptr;
}

// Results of services are JSON.
bool is_training_log(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::ifstream in(file);
  char first = 0;
  if (!(in >> first) || first == '{') return false;
  try {
    read_training_log(file);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> with_training_log(std::vector<std::string> arguments,
                                           const CLI::App& program) {
  auto verb = arguments.begin();
  for (; verb != arguments.end() && verb->starts_with('-'); ++verb)
    if (*verb == "--catalog" && verb + 1 != arguments.end()) ++verb;  // its value
  if (verb == arguments.end() || *verb != "compare") return arguments;
  auto log = std::find_if(verb + 1, arguments.end(), is_training_log);
  // The flags say what the file is meant to be: what is wrong with it is said as of a log.
  const auto is_of_training = [&](const std::string& argument) {
    const std::string flag = argument.substr(0, argument.find('='));
    return flag.starts_with('-') && has_flag(program, "train", flag) &&
           !has_flag(program, "compare", flag);
  };
  if (log == arguments.end() && std::any_of(verb + 1, arguments.end(), is_of_training) &&
      !(verb + 1)->starts_with('-'))
    log = verb + 1;
  if (log == arguments.end()) return arguments;
  *verb = "train";
  arguments.insert(log, "--log");
  return arguments;
}

void add_compare(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "compare", "a load generator's result on a real service beside its simulation");
  app->footer(
      "Examples:\n"
      "  orrery compare result.json --model llama-3-8b --gpu h100-sxm --tp 1\n"
      "RESULT: vLLM's `bench serve --save-result [--save-detailed]`, AIPerf's\n"
      "profile_export.jsonl or profile_export_aiperf.json, or GuideLLM's\n"
      "benchmarks.json. Or the log of a training job (Megatron-LM, NeMo,\n"
      "torchtitan), with the flags of `orrery train`:\n"
      "  orrery compare run.log -m llama-3-8b -g h100-sxm --gpus 8 --stack fsdp");
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
