// orrery run: answers scenario files.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/flags/help.h"
#include "apps/cli/flags/scenario_files.h"
#include "apps/cli/verbs/kind_verb.h"
#include "apps/face/answers.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

void run_files(KindVerb& verb, const std::vector<std::string>& given, Context& context) {
  std::vector<ScenarioSweep> scenarios;
  for (const std::string& file : scenario_files(given)) {
    Node document = read_scenario_document(file);
    verb.question().lay_over(document);
    scenarios.push_back(
        named(read_scenario(all_kinds(), document), std::filesystem::path(file).stem().string()));
  }
  Runner runner(context.bundle());
  std::vector<Answer> answers;
  if (scenarios.size() > 1) expect_parts(&context.progress.parts(), scenarios.size());
  for (const ScenarioSweep& s : scenarios) {
    answers.push_back(runner.run(s, verb.options(context, s.points)));
    finish_parts(&context.progress.parts());
  }
  verb.write_files(answers);
  print(answers, verb.output());
  context.exit_code = face::exit_code(answers);
}

}  // namespace

void add_run(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "run",
      "Answers the questions of scenario files. Flags and --set override the keys of a file.");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery run scenario.yaml\n"
      "  orrery run scenarios/suite45 -o csv\n"
      "  orrery run a.yaml b.yaml --gpu h200-sxm --set engine.max_num_seqs=64 -o csv\n\n{}",
      kDefinitions));
  auto verb = std::make_shared<KindVerb>(*app, "run");
  const auto files = std::make_shared<std::vector<std::string>>();
  app->add_option("FILE", *files, "scenario files (YAML or JSON), or folders of them")->required();
  app->callback([verb, files, &context] { run_files(*verb, *files, context); });
}

}  // namespace orrery::cli
