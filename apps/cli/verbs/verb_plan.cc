// orrery plan: the deployment that serves a load best within its limits.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/flags/help.h"
#include "apps/cli/flags/scenario_flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/output_plan.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/answer/run_planner.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/emit/run_files.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {

namespace {

// The plans of a service or of a run, as they were found.
struct Found {
  std::vector<Plans> services;
  std::vector<RunPlans> runs;
};

void write_plans(Runner& runner, const ScenarioSweep& asked, const Found& found,
                 const std::filesystem::path& folder) {
  if (found.services.size() + found.runs.size() != 1)
    throw InputError("--out: takes one question, not a sweep");
  const auto files = found.runs.empty()
                         ? plan_files(runner.bundle(), asked.points.front(), found.services.front())
                         : run_files(runner, found.runs.front());
  for (const auto& [path, text] : files) {
    std::error_code failed;
    std::filesystem::create_directories((folder / path).parent_path(), failed);
    write_file((folder / path).string(), text, "--out");
  }
  const Answer& answer =
      found.runs.empty() ? found.services.front().answer : found.runs.front().answer;
  const std::string changes =
      found.services.empty() ? "" : changes_markdown(found.services.front());
  write_file((folder / "plan.md").string(), markdown(answer, false) + changes, "--out");
}

}  // namespace

void add_plan(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "plan",
      "Chooses GPU, engine, formats, layout and number of engines for a load and its limits, and "
      "proves the choice by simulation; with --train GPU, their number and layout for a run.");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery plan -m llama-3.1-70b --gpu h100-sxm,h200-sxm --rate 20 --isl 1200 --osl 250 \\\n"
      "    --slo ttft:1s,tpot:40ms --engines vllm,sglang --formats checkpoint,fp8\n"
      "  orrery plan -m llama-3.1-8b --gpu l40s --gpus 8 --objective throughput --slo tpot:50ms\n"
      "  orrery plan -m llama-3-70b --train --tokens 2T --by 60d --gpu h100-sxm,h200-sxm:4096 \\\n"
      "    --stack megatron --global-batch 2048 --seq 8192 --objective cost --out plan\n\n"
      "{}",
      kDefinitions));
  struct Verb {
    explicit Verb(CLI::App& a) : flags(a, ScenarioFlags::Of::kPlan) {
      add_output_flags(a, output, false);
    }
    ScenarioFlags flags;
    OutputOptions output;
    std::string folder;
  };
  auto verb = std::make_shared<Verb>(*app);
  app->add_option(
         "--out", verb->folder,
         "also write the plans there: scenarios, launch commands, Kubernetes, benchmarks; of "
         "runs configurations of the stack")
      ->group("output")
      ->type_name("DIR");
  app->callback([verb, &context] {
    const ScenarioSweep asked = verb->flags.scenario();
    Runner runner(context.bundle());
    Found found;
    runner.set_planner([&found](Runner& by, const Scenario& question) {
      if (question.as<PlanQuestion>().training) {
        found.runs.push_back(find_run_plans(by, question));
        return found.runs.back().answer;
      }
      found.services.push_back(find_plans(by, question));
      return found.services.back().answer;
    });
    const Answer answer = runner.run(asked);
    if (!verb->folder.empty()) write_plans(runner, asked, found, verb->folder);
    if (verb->output.format != Format::kTable || !verb->output.html.empty())
      return print({&answer, 1}, verb->output);
    fmt::print("{}", plan_table(answer));
  });
}

}  // namespace orrery::cli
