// orrery replay: a trace of torch.profiler, run again as it was and as it might be.
#include "apps/cli/flags/question_flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

// The flags: every key of a scenario's `replay`, and the hardware that it is carried over to.
struct ReplayFlags : QuestionFlags {
  using QuestionFlags::QuestionFlags;
  std::string perfetto;
};

void answer(const ReplayFlags& flags, const Bundle& bundle) {
  RunOptions options;
  options.steps = !flags.perfetto.empty();
  const Answer a = Runner(bundle).run(flags.question().points(bundle), options);
  if (options.steps) {
    if (a.points.size() != 1) throw InputError("--perfetto: expected one replay, got a sweep");
    write_file(flags.perfetto, a.points[0].timeline, "--perfetto");
  }
  print({&a, 1}, flags.output);
}

}  // namespace

void add_replay(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("replay",
                                         "Replays a trace of torch.profiler, unchanged or with "
                                         "changes, and breaks down the time of a step.");
  auto flags = std::make_shared<ReplayFlags>(*app, "replay");
  add_output_flags(*app, flags->output, false);
  app->add_option("--perfetto", flags->perfetto,
                  "write the replay's timeline for ui.perfetto.dev (not with a sweep)")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "exposed: time during which no other class ran on the GPU. critical: time on the\n"
      "critical path of the step.\n"
      "Examples:\n"
      "  orrery replay rank0.json.gz\n"
      "  orrery replay rank0.json.gz --scale attention=0.5 --scale cpu=0.8\n"
      "  orrery replay rank0.json.gz --from-gpu a100-80g-sxm --gpu h100-sxm\n"
      "  orrery replay rank0.json.gz --dp 16,64 --node hgx-h100 -o json");
  app->callback([flags, &context] { answer(*flags, context.bundle()); });
}

}  // namespace orrery::cli
