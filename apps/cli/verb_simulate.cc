// orrery simulate: a service under load.
#include <fmt/format.h>

#include "apps/cli/flags.h"
#include "apps/cli/help.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/base/error.h"
#include "orrery/scenario/runner.h"

namespace orrery::cli {
namespace {

void write_files(const Answer& answer, const std::string& requests, const std::string& vllm,
                 const std::string& aiperf) {
  if (answer.points.size() != 1) {
    throw InputError(fmt::format(
        "--requests-file, --vllm-file and --aiperf-file hold one simulation; this is a sweep of {}",
        answer.points.size()));
  }
  const Point& p = answer.points.front();
  if (!requests.empty()) {
    write_file(requests, requests.ends_with(".jsonl") ? requests_jsonl(p) : requests_csv(p),
               "--requests-file");
  }
  if (!vllm.empty()) write_file(vllm, vllm_result(p), "--vllm-file");
  if (!aiperf.empty()) write_file(aiperf, aiperf_result(p), "--aiperf-file");
}

}  // namespace

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
    std::string requests, vllm, aiperf;  // files to write
  };
  auto verb = std::make_shared<Verb>(*app);
  app->add_flag("--intervals,!--no-intervals", verb->options.intervals,
                "two more simulations give every figure an interval [on]");
  app->add_flag("--find-max-rate", verb->options.find_max_rate,
                "the highest rate whose requests meet the --slo-... limits, instead of --rate");
  const auto file = [&](const char* flag, std::string& path, const char* doc) {
    app->add_option(flag, path, doc)->group("output")->type_name("FILE");
  };
  file("--requests-file", verb->requests, "write every request, as csv, or jsonl by the name");
  file("--vllm-file", verb->vllm, "write the result as vLLM's `bench serve --save-result` does");
  file("--aiperf-file", verb->aiperf, "write the result as AIPerf's profile_export_aiperf.json");
  app->callback([verb, &context] {
    const bool files = !verb->requests.empty() || !verb->vllm.empty() || !verb->aiperf.empty();
    verb->options.requests = files;
    Runner runner(context.bundle());
    const Answer answer = runner.run(verb->flags.scenario(), verb->options);
    if (files) write_files(answer, verb->requests, verb->vllm, verb->aiperf);
    print({&answer, 1}, verb->output);
    bool fits = false;
    for (const Point& p : answer.points) fits |= p.feasibility.fits;
    context.exit_code = fits ? 0 : 3;
  });
}

}  // namespace orrery::cli
