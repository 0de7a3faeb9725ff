// orrery kernel: single kernels, without a model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/question_flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

// The flags: every key of a scenario's `kernel`, and the GPU.
struct KernelFlags : QuestionFlags {
  using QuestionFlags::QuestionFlags;
  std::string roofline;
};

std::string whole_at(const Point& p, const char* key) {
  return p.at.contains(key) ? p.at[key].dump() : "";
}

// One line a point. Ops with a context have a column for it in place of the rate: 80 columns.
void print_table(const Answer& a) {
  const bool contexts = a.points[0].at.contains("context");
  const char* rate = a.points[0].find("rate") ? "rate" : "bandwidth";
  std::size_t name = 16, m = 7;
  for (const Point& p : a.points)
    name = std::max(name, p.at["gpu"].get_ref<const std::string&>().size());
  if (name > 16) m -= std::min<std::size_t>(name - 16, 5);
  const std::string what = contexts ? "context" : a.points[0].find("rate") ? "TFLOP/s" : "GB/s";
  fmt::print("{:<{}} {:>{}} {}{:>9} {:>9} {:<8}{:>5} {} {}\n", "gpu", name, "m", m,
             contexts ? fmt::format("{:>8} ", what) : "", "time us", "90 %", "bound", "peak",
             contexts ? "" : fmt::format("{:>8} ", what), "tier");
  Notes sources;
  for (const Point& p : a.points) {
    const Metric& us = *p.find("time");
    const std::string gpu = p.at["gpu"];
    fmt::print("{:<{}} {:>{}} {}{:>9} {:>9} {:<8}{:>4.0f}% {} {}\n", gpu, name, whole_at(p, "m"), m,
               contexts ? fmt::format("{:>8} ", whole_at(p, "context")) : "", number(us.value),
               spread90(us.value, us.low90, us.high90), p.at["bound"].get<std::string>(),
               p.find("efficiency")->value,
               contexts ? "" : fmt::format("{:>8} ", number(p.find(rate)->value)),
               to_text(us.origin));
    for (const std::string& note : p.notes) sources.add(gpu + ": " + note);
  }
  print_call_accounts(a, std::array<std::string_view, 2>{"gpu", contexts ? "context" : "m"});
  sources.print();
}

void answer(const KernelFlags& flags, Context& context) {
  const Bundle bundle = context.bundle();
  RunOptions options;
  options.meter = &context.progress.meter();
  constexpr std::string_view kColumns[] = {"hardware.gpu"};
  const ScenarioSweep asked = flags.question().points(bundle);
  const Answer a = Runner(bundle).run(asked, options);
  write_picture(a, flags.roofline, "roofline", "--roofline");
  print(a, asked, flags.output, kColumns, print_table);
}

}  // namespace

void add_kernel(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "kernel",
      "Predicts the time of one kernel: GEMM, attention, mixture of experts, norm, optimizer, ...");
  auto flags = std::make_shared<KernelFlags>(*app, "kernel");
  add_output_flags(*app, flags->output, false);
  app->add_option("--roofline", flags->roofline,
                  "draw the kernels on the roofline of their GPUs, as SVG, or as a page if the "
                  "name ends in .html")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "Examples:\n"
      "  orrery kernel gemm --gpu h100-sxm,b200-sxm -m 1-4096*2 -n 8192 -k 8192\n"
      "  orrery kernel decode --gpu a100-80g-sxm -m 64 --context 4096 --kv-heads 4\n"
      "  orrery kernel moe --gpu h200-sxm -m 64 --experts 128 --top-k 8 -n 768 -k 2048\n"
      "  orrery kernel mla --gpu b200-sxm --phase prefill --context 4096 --heads 128");
  app->callback([flags, &context] { answer(*flags, context); });
}

}  // namespace orrery::cli
