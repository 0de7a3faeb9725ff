// orrery estimate, memory, run: scenarios in, answers out.
#include <fmt/format.h>

#include "apps/cli/flags.h"
#include "orrery/scenario/runner.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"

namespace orrery::cli {
namespace {

struct Verb {
  Verb(CLI::App& app) : flags(app) { add_output_flags(app, output); }
  ScenarioFlags flags;
  OutputOptions output;
  std::vector<std::string> files;
};

// 3 if there are points and none fits.
int feasibility_code(const std::vector<Answer>& answers) {
  bool any = false, fits = false;
  for (const Answer& a : answers) {
    for (const Point& p : a.points) any = true, fits |= p.feasibility.fits;
  }
  return any && !fits ? 3 : 0;
}

void answer(Context& context, const std::vector<Scenario>& scenarios, const OutputOptions& output, RunOptions options) {
  Runner runner(context.bundle());
  options.breakdown = output.breakdown || !output.html.empty() || !output.trace.empty();
  std::vector<Answer> answers;
  for (const Scenario& s : scenarios) {
    answers.push_back(runner.run(s, options));
    if (!s.question.empty() && output.format == Format::kTable) fmt::print("{}\n", s.question);
    print(answers.back(), output);
  }
  context.exit_code = feasibility_code(answers);
}

}  // namespace

void add_estimate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("estimate", "latency, throughput, memory and kernel breakdown of one deployment");
  auto verb = std::make_shared<Verb>(*app);
  app->callback([verb, &context] { answer(context, {verb->flags.scenario()}, verb->output, {}); });
}

void add_memory(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("memory", "what a deployment keeps in memory, and how many sequences fit");
  auto verb = std::make_shared<Verb>(*app);
  app->callback([verb, &context] {
    RunOptions options;
    options.memory_only = true;
    answer(context, {verb->flags.scenario()}, verb->output, options);
  });
}

void add_run(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("run", "answers scenario files; flags and --set change them");
  auto verb = std::make_shared<Verb>(*app);
  app->add_option("FILE", verb->files, "scenario files (YAML or JSON)")->required();
  app->callback([verb, &context] {
    std::vector<Scenario> scenarios;
    for (const std::string& file : verb->files) {
      Node document = read_document(file);
      verb->flags.apply(document);
      scenarios.push_back(read_scenario(document));
      if (!document.find("name")) scenarios.back().name = std::filesystem::path(file).stem().string();
    }
    answer(context, scenarios, verb->output, {});
  });
}

}  // namespace orrery::cli
