// orrery estimate, memory, run: answers scenarios.
#include <fmt/format.h>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/flags/scenario_files.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/answers.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

struct EstimateVerb {
  EstimateVerb(CLI::App& app, std::string_view verb, bool has_steps) : flags(app, verb) {
    add_output_flags(app, output, has_steps);
    if (!has_steps) return;
    app.add_option(
           "--chakra", output.chakra,
           "write one prefill and one decode step as Chakra traces (PREFIX.prefill.0.et and "
           "PREFIX.decode.0.et), for `orrery network --chakra` and ASTRA-sim")
        ->group("output")
        ->type_name("PREFIX");
  }
  KeyFlags flags;
  OutputOptions output;
  std::vector<std::string> files;
};

void answer(Context& context, Runner& runner, const std::string& verb,
            const std::vector<ScenarioSweep>& scenarios, const OutputOptions& output) {
  RunOptions options;
  options.meter = &context.progress.meter();
  options.chakra = !output.chakra.empty();
  options.breakdown = output.breakdown || !output.html.empty() || !output.svg.empty() ||
                      !output.trace.empty() || options.chakra;
  std::vector<Answer> answers;
  if (scenarios.size() > 1) expect_parts(&context.progress.parts(), scenarios.size());
  for (const ScenarioSweep& s : scenarios) {
    answers.push_back(face::answer(runner, verb, s, options));
    finish_parts(&context.progress.parts());
  }
  print(answers, output);
  context.exit_code = face::exit_code(answers);
}

std::string footer(std::string_view examples) {
  return fmt::format("Examples:\n{}\n\n{}", examples, kDefinitions);
}

}  // namespace

void add_estimate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "estimate",
      "Predicts latency, throughput, memory and the time of every kernel for one batch, or for a "
      "fixed number of users.");
  app->footer(
      footer("  orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --isl 1024 --osl 128\n"
             "  orrery estimate --model llama-3-8b --gpu a100-80g-sxm --batch 1-64*2 -o csv"));
  auto verb = std::make_shared<EstimateVerb>(*app, "estimate", true);
  app->callback([verb, &context] {
    Runner runner = face::make_runner(context.bundle());
    answer(context, runner, "estimate", {verb->flags.question().points(runner.bundle())},
           verb->output);
  });
}

void add_memory(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("memory",
                                         "Says whether a deployment fits, what fills the memory of "
                                         "a GPU, and how many requests fit at "
                                         "once.");
  app->footer(
      footer("  orrery memory --model llama-2-7b --gpu a100-80g-sxm --max-model-len 4096\n"
             "  orrery memory --model ./config.json --gpu l40s --tp 1,2,4 -o json"));
  auto verb = std::make_shared<EstimateVerb>(*app, "memory", false);
  app->callback([verb, &context] {
    Runner runner = face::make_runner(context.bundle());
    answer(context, runner, "memory", {verb->flags.question().points(runner.bundle())},
           verb->output);
  });
}

void add_run(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "run",
      "Answers the questions of scenario files. Flags and --set override the keys of a file.");
  app->footer(
      footer("  orrery run scenario.yaml\n"
             "  orrery run scenarios/suite45 -o csv\n"
             "  orrery run a.yaml b.yaml --gpu h200-sxm --set engine.max_num_seqs=64 -o csv"));
  auto verb = std::make_shared<EstimateVerb>(*app, "run", true);
  app->add_option("FILE", verb->files, "scenario files (YAML or JSON), or folders of them")
      ->required();
  app->callback([verb, &context] {
    std::vector<ScenarioSweep> scenarios;
    for (const std::string& file : scenario_files(verb->files)) {
      Node document = read_scenario_document(file);
      verb->flags.question().lay_over(document);
      scenarios.push_back(
          named(read_scenario(document), std::filesystem::path(file).stem().string()));
    }
    Runner runner = face::make_runner(context.bundle());
    answer(context, runner, "run", scenarios, verb->output);
  });
}

}  // namespace orrery::cli
