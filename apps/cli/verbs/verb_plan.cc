// Flags of `orrery plan` on the command line alone: files to deploy, and a store of results.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/output/output.h"
#include "apps/cli/verbs/kind_verb.h"
#include "apps/cli/verbs/plan_progress.h"
#include "apps/cli/version.h"
#include "orrery/base/error.h"
#include "orrery/planner/answer/plan_table.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/emit/from_command.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_files.h"
#include "orrery/planner/runs/run_planner.h"
#include "orrery/planner/store/result_key.h"
#include "orrery/planner/store/result_store.h"
#include "orrery/planner/workers/mpi_ranks.h"
#include "orrery/planner/workers/search_context.h"
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

// Answers a point, and keeps the plans that were found.
void find(Found& found, SearchContext& search, const Answering& with, const Scenario& question,
          PointAnswers& out) {
  const Answer* answer = nullptr;
  try {
    if (planned(question).training) {
      found.runs.push_back(find_run_plans(with.runner, question, search));
      answer = &found.runs.back().answer;
    } else {
      found.services.push_back(find_plans_beside(with.runner, question, search));
      answer = &found.services.back().answer;
    }
  } catch (const SearchOver&) {
    out.points.clear();
    return;
  }
  out.points = answer->points;
  out.complete = answer->complete;
}

struct PlanFlags {
  std::string folder, store;
};

void answer_plan_verb(KindVerb& verb, const PlanFlags& flags, Context& context) {
  const std::unique_ptr<Ranks> ranks = join_mpi();
  Runner runner(context.bundle());
  const ScenarioSweep asked = verb.question().points(runner.bundle());
  PlanProgress progress;
  std::unique_ptr<ResultStore> store;
  // Made before the store is opened, which may fail on rank 0 alone: the others then end with it.
  SearchContext search({nullptr, &progress, ranks.get()});
  store = opened_store(flags.store, runner);
  search.keep_in(store.get());
  Found found;
  Answer answer;
  try {
    answer =
        runner.run(asked, {}, [&](const Answering& with, const Scenario& s, PointAnswers& out) {
          find(found, search, with, s, out);
        });
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
  if (!flags.folder.empty()) write_plans(runner, found, flags.folder);
  verb.print(answer, asked);
}

}  // namespace

void extend_plan(CLI::App& app, const std::shared_ptr<KindVerb>& verb, Context& context) {
  const auto flags = std::make_shared<PlanFlags>();
  app.add_option("--out", flags->folder,
                 "also write the plans there: scenarios, launch commands, Kubernetes, benchmarks; "
                 "of runs configurations of the stack")
      ->group("output")
      ->type_name("DIR");
  app.add_option("--resume", flags->store,
                 "keep every result there (an SQLite file), and take those that it has: a search "
                 "that was ended goes on, and searches share results")
      ->group("output")
      ->type_name("FILE");
  app.callback([verb, flags, &context] { answer_plan_verb(*verb, *flags, context); });
}

}  // namespace orrery::cli
