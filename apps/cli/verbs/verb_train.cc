// The flag `orrery train --log`, which compares with the log of a real job, and `orrery compare
// training`, which does the same.
#include <fmt/format.h>

#include "apps/cli/output/output.h"
#include "apps/cli/output/output_compare.h"
#include "apps/cli/verbs/kind_verb.h"
#include "apps/face/answers.h"
#include "apps/face/comparison.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

std::string title_of(const face::ComparedJob& job) {
  return fmt::format("{}: medians of {} step{}", job.log.tool, job.log.steps,
                     job.log.steps == 1 ? "" : "s");
}

void print_comparison(const face::ComparedJob& job) {
  fmt::print("{}\n", title_of(job));
  if (!job.contradiction.empty()) fmt::print("{}\n", job.contradiction);
  fmt::print("\n{}", figures_table(job.figures));
}

// Prints the comparison of a log with the answer.
void print_compared(const std::string& log, const Answer& answer, const OutputOptions& output) {
  if (!output.svg.empty())
    throw InputError("--svg: has no effect beside a log; --html draws the comparison");
  const face::ComparedJob job = face::compare_training(log, answer);
  if (!output.html.empty()) {
    ComparedPart part{title_of(job), job.figures, {}};
    if (!job.contradiction.empty()) part.remarks.push_back(job.contradiction);
    write_file(output.html, compared_page(log, {part}), "--html");
  }
  if (output.format == Format::kJson) return fmt::print("{}", face::json_text(job));
  print_comparison(job);
}

// The flags of `orrery compare training`.
struct ComparisonFlags {
  explicit ComparisonFlags(CLI::App& app) : keys(app, "train") {}
  KeyFlags keys;
  OutputOptions output;
  std::string log;
};

void answer(KindVerb& verb, const std::string& log, Context& context) {
  Runner runner(context.bundle());
  const ScenarioSweep asked = verb.question().points(runner.bundle());
  const Answer answer = runner.run(asked, verb.options(context, asked.points));
  verb.write_files({&answer, 1});
  if (!log.empty()) return print_compared(log, answer, verb.output());
  verb.print(answer, asked);
  context.exit_code = face::exit_code({&answer, 1});
}

}  // namespace

void extend_train(CLI::App& app, const std::shared_ptr<KindVerb>& verb, Context& context) {
  const auto log = std::make_shared<std::string>();
  app.add_option("--log", *log,
                 "compare with the log of a real job, as `orrery compare training` does")
      ->group("output")
      ->type_name("FILE");
  app.callback([verb, log, &context] { answer(*verb, *log, context); });
}

void add_training_comparison(CLI::App& compare, Context& context) {
  CLI::App* app = compare.add_subcommand(
      "training", "Compares the log of a real training job with the prediction of its iteration.");
  const auto flags = std::make_shared<ComparisonFlags>(*app);
  app->add_option("LOG", flags->log, "the log that Megatron-LM, NeMo or torchtitan printed")
      ->required();
  add_output_flags(*app, flags->output, false);
  add_catalog_flag(*app, context);
  app->footer(
      "Examples:\n"
      "  orrery compare training run.log -m llama-3-8b -g h100-sxm --gpus 8 \\\n"
      "    --stack fsdp\n"
      "  orrery compare training run.log --recipe llama-3-70b-bridge-h100-fp8 -o json");
  app->callback([flags, &context] {
    Runner runner(context.bundle());
    RunOptions options;
    options.meter = &context.progress.meter();
    const Answer answer = runner.run(flags->keys.question().points(runner.bundle()), options);
    print_compared(flags->log, answer, flags->output);
  });
}

}  // namespace orrery::cli
