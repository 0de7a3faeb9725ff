// orrery train: an iteration of training, and the run that repeats it.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/flags/question_flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/output_compare.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/comparison.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

// The flags: model, hardware, and every key of a scenario's `training` and `chance`.
struct TrainFlags : QuestionFlags {
  using QuestionFlags::QuestionFlags;
  std::string timeline;
  std::string log;  // of a real job, to compare with
};

std::string title_of(const face::ComparedJob& job) {
  return fmt::format("{}: medians of {} step{}", job.log.tool, job.log.steps,
                     job.log.steps == 1 ? "" : "s");
}

void print_comparison(const face::ComparedJob& job) {
  fmt::print("{}\n", title_of(job));
  if (!job.contradiction.empty()) fmt::print("{}\n", job.contradiction);
  fmt::print("\n{}", figures_table(job.figures));
}

void answer(const TrainFlags& flags, Context& context) {
  RunOptions options;
  options.meter = &context.progress.meter();
  const bool drawn = !flags.output.html.empty() || !flags.output.svg.empty();
  options.breakdown = flags.output.breakdown || drawn;
  options.chakra = !flags.output.chakra.empty();
  Runner runner(context.bundle());
  const ScenarioSweep asked = flags.question().points(runner.bundle());
  options.steps = !flags.timeline.empty() || (drawn && asked.points.size() == 1);
  const Answer a = runner.run(asked, options);
  if (!flags.timeline.empty()) {
    if (a.points.size() != 1) throw InputError("--timeline: expected one layout, got a sweep");
    write_file(flags.timeline, a.points[0].timeline, "--timeline");
  }
  if (!flags.log.empty()) {
    if (!flags.output.svg.empty())
      throw InputError("--svg: has no effect beside a log; --html draws the comparison");
    const face::ComparedJob job = face::compare_training(flags.log, a);
    if (!flags.output.html.empty()) {
      ComparedPart part{title_of(job), job.figures, {}};
      if (!job.contradiction.empty()) part.remarks.push_back(job.contradiction);
      write_file(flags.output.html, compared_page(flags.log, {part}), "--html");
    }
    if (flags.output.format == Format::kJson) return fmt::print("{}", face::json_text(job));
    return print_comparison(job);
  }
  print({&a, 1}, flags.output);
  const bool fits = std::any_of(a.points.begin(), a.points.end(),
                                [](const Point& p) { return p.feasibility.fits; });
  if (!fits) context.exit_code = 3;
}

// The flags that describe the job.
std::shared_ptr<TrainFlags> add_job_flags(CLI::App& app) {
  return std::make_shared<TrainFlags>(app, "train");
}

}  // namespace

void add_train(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "train",
      "Predicts the time of an iteration, throughput, MFU, memory and cost of a training job.");
  const std::shared_ptr<TrainFlags> flags = add_job_flags(*app);
  add_output_flags(*app, flags->output, true);
  app->add_option("--timeline", flags->timeline,
                  "write the events of the pipeline for ui.perfetto.dev (not with a sweep)")
      ->group("output")
      ->type_name("FILE");
  app->add_option(
         "--chakra", flags->output.chakra,
         "write the iteration, event by event, as a Chakra trace of each rank (PREFIX.0.et, "
         "PREFIX.1.et, ... and PREFIX.groups.json), for `orrery network --chakra` and "
         "ASTRA-sim (not with a sweep)")
      ->group("output")
      ->type_name("PREFIX");
  app->add_option("--log", flags->log,
                  "compare with the log of a real job, as `orrery compare training` does")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "Examples:\n"
      "  orrery train -m llama-3-8b -g h100-sxm --gpus 64 --seq 8192 --stack fsdp\n"
      "  orrery train -m gpt-3-175b -g h100-sxm --gpus 64 --tp 8 --pp 1-8*2 \\\n"
      "    --global-batch 64 --recompute selective\n"
      "  orrery train -m llama-2-70b -g a100-80g-sxm --tuning qlora --lora-targets q,v\n"
      "  orrery train -m mixtral-8x7b -g h100-sxm --gpus 32-256*2 --ep 8 --zero 1\n"
      "  orrery train --recipe llama-3-70b-bridge-h100-fp8 --gpus 128 \\\n"
      "    --global-batch 256");
  app->callback([flags, &context] { answer(*flags, context); });
}

void add_training_comparison(CLI::App& compare, Context& context) {
  CLI::App* app = compare.add_subcommand(
      "training", "Compares the log of a real training job with the prediction of its iteration.");
  const std::shared_ptr<TrainFlags> flags = add_job_flags(*app);
  app->add_option("LOG", flags->log, "the log that Megatron-LM, NeMo or torchtitan printed")
      ->required();
  add_output_flags(*app, flags->output, false);
  add_catalog_flag(*app, context);
  app->footer(
      "Examples:\n"
      "  orrery compare training run.log -m llama-3-8b -g h100-sxm --gpus 8 \\\n"
      "    --stack fsdp\n"
      "  orrery compare training run.log --recipe llama-3-70b-bridge-h100-fp8 -o json");
  app->callback([flags, &context] { answer(*flags, context); });
}

}  // namespace orrery::cli
