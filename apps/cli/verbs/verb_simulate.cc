// orrery simulate: a service under load.
#include <fmt/format.h>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/answers.h"
#include "apps/face/timeline.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

struct ServiceFiles {
  std::string requests, steps, series, vllm, aiperf;
};

void write_files(const Answer& answer, const ServiceFiles& to) {
  const Point& p = only_point(
      answer, "--requests-file, --steps-file, --series-file, --vllm-file and --aiperf-file");
  if (!to.requests.empty()) {
    write_file(to.requests, to.requests.ends_with(".jsonl") ? requests_jsonl(p) : requests_csv(p),
               "--requests-file");
  }
  if (!to.steps.empty())
    write_file(to.steps, to.steps.ends_with(".json") ? face::steps_trace(p) : steps_csv(p),
               "--steps-file");
  if (!to.series.empty()) write_file(to.series, series_csv(p), "--series-file");
  if (!to.vllm.empty()) write_file(to.vllm, vllm_result(answer), "--vllm-file");
  if (!to.aiperf.empty()) {
    write_file(to.aiperf,
               to.aiperf.ends_with(".jsonl") ? aiperf_records(answer) : aiperf_result(answer),
               "--aiperf-file");
  }
}

}  // namespace

void add_simulate(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "simulate",
      "Simulates a service under load, request by request: latencies, goodput, the highest rate, "
      "queues, memory, evictions.");
  app->footer(fmt::format(
      "Examples:\n"
      "  orrery simulate -m llama-3-8b -g h100-sxm --rate 2,8 --isl 1024 --osl 128\n"
      "  orrery simulate --model llama-2-7b --gpu a100-80g-sxm --trace azure_conv.csv\n"
      "  orrery simulate -m llama-3-8b -g h100-sxm --find-max-rate --slo-ttft 500ms\n\n{}",
      kDefinitions));
  struct Verb {
    explicit Verb(CLI::App& a) : flags(a, "simulate") { add_output_flags(a, output, false, true); }
    KeyFlags flags;
    OutputOptions output;
    RunOptions options;
    ServiceFiles files;
    std::string plot;
  };
  auto verb = std::make_shared<Verb>(*app);
  app->add_flag(
      "--intervals,!--no-intervals", verb->options.intervals,
      "give every figure an interval, by two further simulations with fast and slow steps [on]");
  const auto file = [&](const char* flag, std::string& path, const char* doc) {
    app->add_option(flag, path, doc)->group("output")->type_name("FILE");
  };
  ServiceFiles& files = verb->files;
  file("--plot", verb->plot,
       "draw TTFT and TPOT over several rates, as SVG, or as a page if the name ends in .html");
  file("--requests-file", files.requests,
       "write one row a request, as csv, or as jsonl if the name ends so");
  file("--steps-file", files.steps,
       "write one row a step, as csv, or if the name ends in .json as a trace for "
       "ui.perfetto.dev");
  file("--series-file", files.series, "write one row a second of simulated time, as csv");
  file("--vllm-file", files.vllm,
       "write the result in the format of vLLM's `bench serve --save-result`");
  file("--aiperf-file", files.aiperf,
       "write the result in the format of AIPerf's profile_export_aiperf.json, or if the name ends "
       "in "
       ".jsonl of its profile_export.jsonl");
  app->callback([verb, &context] {
    const ServiceFiles& to = verb->files;
    const Format format = verb->output.format;
    verb->options.requests = !to.requests.empty() || !to.vllm.empty() || !to.aiperf.empty() ||
                             format == Format::kVllm || format == Format::kAiperf;
    const bool files_of_steps = !to.steps.empty() || !to.series.empty();
    verb->options.steps = files_of_steps || verb->output.picture == "timeline";
    verb->options.meter = &context.progress.meter();
    Runner runner(context.bundle());
    const Answer answer = runner.run(verb->flags.question().points(runner.bundle()), verb->options);
    const bool files_asked = !to.requests.empty() || !to.vllm.empty() || !to.aiperf.empty();
    if (files_asked || files_of_steps) write_files(answer, to);
    write_picture(answer, verb->plot, "load", "--plot");
    print({&answer, 1}, verb->output);
    context.exit_code = face::exit_code({&answer, 1});
  });
}

}  // namespace orrery::cli
