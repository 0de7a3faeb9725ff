// orrery simulate: a service under load.
#include <fmt/format.h>

#include "apps/cli/flags.h"
#include "apps/cli/help.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/scenario/runner.h"

namespace orrery::cli {

void add_simulate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "simulate", "a service under load: latencies, goodput, saturation, memory, evictions");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery simulate --model llama-3-8b --gpu h100-sxm --rate 2,8 --isl 1024 --osl 128\n"
      "  orrery simulate --model llama-2-7b --gpu a100-80g-sxm --trace azure_conv.csv\n"
      "  orrery simulate --model llama-3-8b --gpu h100-sxm --find-max-rate --slo-ttft 500ms\n\n{}",
      kDefinitions));
  struct Verb {
    explicit Verb(CLI::App& a) : flags(a, ScenarioFlags::Of::kService) {
      add_output_flags(a, output, false);
    }
    ScenarioFlags flags;
    OutputOptions output;
    RunOptions options;
  };
  auto verb = std::make_shared<Verb>(*app);
  app->add_flag("--intervals,!--no-intervals", verb->options.intervals,
                "two more simulations give every figure an interval [on]");
  app->add_flag("--find-max-rate", verb->options.find_max_rate,
                "the highest rate whose requests meet the --slo-... limits, instead of --rate");
  app->callback([verb, &context] {
    Runner runner(context.bundle());
    const Answer answer = runner.run(verb->flags.scenario(), verb->options);
    print({&answer, 1}, verb->output);
    bool fits = false;
    for (const Point& p : answer.points) fits |= p.feasibility.fits;
    context.exit_code = fits ? 0 : 3;
  });
}

}  // namespace orrery::cli
