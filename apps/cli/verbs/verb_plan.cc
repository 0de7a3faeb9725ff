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
#include "orrery/planner/emit/plan_files.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {

namespace {

void write_plans(const Bundle& bundle, const ScenarioSweep& asked, const std::vector<Plans>& found,
                 const std::filesystem::path& folder) {
  if (found.size() != 1) throw InputError("--out: takes one question, not a sweep");
  for (const auto& [path, text] : plan_files(bundle, asked.points.front(), found.front())) {
    std::error_code failed;
    std::filesystem::create_directories((folder / path).parent_path(), failed);
    write_file((folder / path).string(), text, "--out");
  }
  write_file((folder / "plan.md").string(), markdown(found.front().answer, false), "--out");
}

}  // namespace

void add_plan(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "plan",
      "Chooses GPU, engine, formats, layout and number of engines for a load and its limits, and "
      "proves the choice by simulation.");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery plan -m llama-3.1-70b --gpu h100-sxm,h200-sxm --rate 20 --isl 1200 --osl 250 \\\n"
      "    --slo ttft:1s,tpot:40ms --engines vllm,sglang --formats checkpoint,fp8\n"
      "  orrery plan -m llama-3.1-8b --gpu l40s --gpus 8 --objective throughput --slo tpot:50ms\n\n"
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
  app->add_option("--out", verb->folder,
                  "also write the plans there: scenarios, launch commands, Kubernetes, benchmarks")
      ->group("output")
      ->type_name("DIR");
  app->callback([verb, &context] {
    const ScenarioSweep asked = verb->flags.scenario();
    Runner runner(context.bundle());
    std::vector<Plans> found;
    runner.set_planner([&found](Runner& by, const Scenario& question) {
      if (question.as<PlanQuestion>().training) return make_plans(by, question);
      found.push_back(find_plans(by, question));
      return found.back().answer;
    });
    const Answer answer = runner.run(asked);
    if (!verb->folder.empty()) write_plans(runner.bundle(), asked, found, verb->folder);
    if (verb->output.format != Format::kTable || !verb->output.html.empty())
      return print({&answer, 1}, verb->output);
    fmt::print("{}", plan_table(answer));
  });
}

}  // namespace orrery::cli
