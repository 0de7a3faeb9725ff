// orrery train: an iteration of training, and the run that repeats it.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags.h"
#include "apps/cli/help.h"
#include "apps/cli/output.h"
#include "apps/cli/question_flags.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner.h"
#include "orrery/scenario/training_log.h"

namespace orrery::cli {
namespace {

// The flags: model, hardware, and every key of a scenario's `training` and `chance`.
struct TrainFlags : QuestionFlags {
  std::string timeline;
  std::string log;  // of a real job, to compare with
};

void print_comparison(const TrainingLog& log, const Point& point) {
  fmt::print("{}: medians of {} steps\n\n", log.tool, log.steps);
  fmt::print("{:<20} {:>10} {:>10} {:<9} {:>7}  {}\n", "", "measured", "predicted", "", "diff",
             "90 % interval");
  bool all_within = true;
  for (const LoggedFigure& f : compare(log, point)) {
    fmt::print("{:<20} {:>10} {:>10} {:<9} {:>+6.1f}%  {}{}\n", f.name, number(f.measured),
               number(f.predicted.value), f.predicted.unit, f.difference(), interval90(f.predicted),
               f.within() ? "" : " *");
    all_within &= f.within();
  }
  if (!all_within) fmt::print("* outside the interval\n");
}

void answer(const TrainFlags& flags, Context& context) {
  Node document = flags.document;
  check_asked(document, "orrery train --model llama-3-8b --gpu h100-sxm --gpus 64 --stack fsdp");
  set_path(document, "name", scalar_node("command line", ""));
  if (!document.find("training")) set_path(document, "training.gpus", scalar_node("1", ""));
  RunOptions options;
  options.breakdown = flags.output.breakdown || !flags.output.html.empty();
  options.steps = !flags.timeline.empty();
  Runner runner(context.bundle());
  const Answer a = runner.run(read_scenario(document), options);
  if (!flags.timeline.empty()) {
    if (a.points.size() != 1) throw InputError("--timeline: of one layout, not of a sweep");
    write_file(flags.timeline, a.points[0].timeline, "--timeline");
  }
  if (!flags.log.empty()) {
    if (a.points.size() != 1) throw InputError("--log: a log is of one layout, not of a sweep");
    return print_comparison(read_training_log(flags.log), a.points[0]);
  }
  print({&a, 1}, flags.output);
  const bool fits = std::any_of(a.points.begin(), a.points.end(),
                                [](const Point& p) { return p.feasibility.fits; });
  if (!fits) context.exit_code = 3;
}

}  // namespace

void add_train(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "train", "iteration time, throughput, MFU and memory of a training job");
  auto flags = std::make_shared<TrainFlags>();
  add_set_flag(*app, flags);
  add_question_flag(*app, flags, "model", "what is asked about");
  for (const char* group : {"hardware", "training", "chance"})
    add_question_group(*app, flags, group);
  add_output_flags(*app, flags->output, true);
  app->add_option("--timeline", flags->timeline,
                  "write the pipeline's events for ui.perfetto.dev (one layout)")
      ->group("output")
      ->type_name("FILE");
  app->add_option("--log", flags->log,
                  "compare with the log of a real job (Megatron-LM, NeMo, torchtitan)")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "Examples:\n"
      "  orrery train -m llama-3-8b -g h100-sxm --gpus 64 --seq 8192 --stack fsdp\n"
      "  orrery train -m gpt-3-175b -g h100-sxm --gpus 64 --tp 8 --pp 1-8*2 \\\n"
      "    --global-batch 64 --recompute selective\n"
      "  orrery train -m llama-2-70b -g a100-80g-sxm --tuning qlora --lora-targets q,v\n"
      "  orrery train -m mixtral-8x7b -g h100-sxm --gpus 32-256*2 --ep 8 --zero 1");
  app->callback([flags, &context] { answer(*flags, context); });
}

}  // namespace orrery::cli
