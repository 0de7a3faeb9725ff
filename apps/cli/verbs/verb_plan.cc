// orrery plan: the deployment that serves a load best within its limits.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/output_plan.h"
#include "apps/cli/verbs/plan_progress.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/cli/version.h"
#include "orrery/base/error.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/answer/run_planner.h"
#include "orrery/planner/crew/desk.h"
#include "orrery/planner/crew/mpi_ranks.h"
#include "orrery/planner/emit/from_command.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/emit/run_files.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/planner/store/result_store.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {

namespace {

// The plans of a service or of a run, as they were found.
struct Found {
  std::vector<Plans> services;
  std::vector<RunPlans> runs;
};

void write_plans(Runner& runner, const Found& found, const std::filesystem::path& folder) {
  if (found.services.size() + found.runs.size() != 1)
    throw InputError("--out: takes one question, not a sweep");
  const auto files = found.runs.empty() ? plan_files(runner.bundle(), found.services.front())
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
  write_file((folder / "plan.md").string(), plan_page(answer) + changes, "--out");
  write_file((folder / "plan.html").string(), html({&answer, 1}), "--out");
}

constexpr int kStopped = 130;  // exit code: ended by Ctrl-C, with the best so far or nothing

std::unique_ptr<ResultStore> opened_store(const std::string& path, const Runner& runner) {
  if (path.empty() || launched_rank() > 0) return nullptr;
  const std::string version = fmt::format("{} {}", version_text(), build_identity());
  const ResultStore::Scope scope{version, catalog_digest(runner.bundle())};
  try {
    return std::make_unique<ResultStore>(path, scope);
  } catch (const InputError& e) {
    throw InputError(fmt::format("--resume: {}", e.what()));
  }
}

}  // namespace

void add_plan(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "plan",
      "Chooses GPU, engine, formats, layout and number of engines for a load and its limits, and "
      "proves the choice by simulation; with --train GPU, their number and layout for a run.");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery plan -m llama-3.1-70b --gpu h100-sxm,h200-sxm --rate 20 \\\n"
      "    --isl 1200 --osl 250 --slo ttft:1s,tpot:40ms --engines vllm,sglang \\\n"
      "    --formats checkpoint,fp8\n"
      "  orrery plan -m llama-3.1-8b -g l40s --gpus 8 --objective throughput \\\n"
      "    --slo tpot:50ms\n"
      "  orrery plan -m llama-3-70b --train --tokens 2T --by 60d \\\n"
      "    --gpu h100-sxm,h200-sxm:4096 --stack megatron --global-batch 2048 \\\n"
      "    --seq 8192 --objective cost --out plan\n"
      "  mpirun -n 16 orrery plan ... --resume results.db   (on many cores or machines;\n"
      "    `orrery --version` says whether MPI is built in)\n\n"
      "{}\n"
      "Ctrl-C ends with the best plan so far, marked incomplete: exit code 130.",
      kDefinitions));
  struct Verb {
    explicit Verb(CLI::App& a) : flags(a, "plan") { add_output_flags(a, output, false); }
    KeyFlags flags;
    OutputOptions output;
    std::string folder, store;
  };
  auto verb = std::make_shared<Verb>(*app);
  app->add_option(
         "--out", verb->folder,
         "also write the plans there: scenarios, launch commands, Kubernetes, benchmarks; of "
         "runs configurations of the stack")
      ->group("output")
      ->type_name("DIR");
  app->add_option("--resume", verb->store,
                  "keep every result there (an SQLite file), and take those that it has: a search "
                  "that was ended goes on, and searches share results")
      ->group("output")
      ->type_name("FILE");
  app->callback([verb, &context] {
    const std::unique_ptr<Ranks> ranks = join_mpi();
    Runner runner(context.bundle());
    const ScenarioSweep asked = verb->flags.question().points(runner.bundle());
    PlanProgress progress;
    std::unique_ptr<ResultStore> store;
    // Made before the store is opened, which may fail on rank 0 alone: the others then end with it.
    Desk desk({nullptr, &progress, ranks.get()});
    store = opened_store(verb->store, runner);
    desk.keep_in(store.get());
    Found found;
    runner.set_planner([&](Runner& by, const Scenario& question) {
      try {
        if (question.as<PlanQuestion>().training) {
          found.runs.push_back(find_run_plans(by, question, desk));
          return found.runs.back().answer;
        }
        found.services.push_back(find_plans_beside(by, question, desk));
        return found.services.back().answer;
      } catch (const Dismissed&) {
        return Answer();
      }
    });
    Answer answer;
    try {
      answer = runner.run(asked);
    } catch (const Stopped& e) {
      progress.clear();
      fmt::print(stderr, "orrery: {}\n", e.what());
      context.exit_code = kStopped;
      return;
    }
    if (ranks && ranks->rank() > 0) return;  // rank 0 answers
    progress.clear();
    if (answer.complete == false) context.exit_code = kStopped;
    if (store && !store->failure().empty()) {
      fmt::print(stderr,
                 "orrery: --resume: {}; the answer is whole, and the results from then on are not "
                 "kept\n",
                 store->failure());
      context.exit_code = 1;
    }
    if (!verb->folder.empty()) write_plans(runner, found, verb->folder);
    if (verb->output.format != Format::kTable || !verb->output.html.empty() ||
        !verb->output.svg.empty())
      return print({&answer, 1}, verb->output);
    fmt::print("{}", plan_table(answer));
  });
}

}  // namespace orrery::cli
