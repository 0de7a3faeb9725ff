// orrery network: collectives, without a model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/question_flags.h"
#include "apps/cli/output/network_flow.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/scenario/answer/optimum.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

// The flags: every key of a scenario's `collective`, and where it runs.
struct NetworkFlags : QuestionFlags {
  using QuestionFlags::QuestionFlags;
  std::string plot;
};

std::string text_at(const Point& p, const char* key) {
  const auto v = p.at.find(key);
  if (v == p.at.end()) return "";
  return v->is_string() ? v->get<std::string>() : v->dump();
}

// A metric that a point may lack.
std::string number_at(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  return m == nullptr ? "" : number(m->value);
}

std::string width90(const Metric& m) {
  return m.has_interval() ? spread90(m.value, m.low90, m.high90) : "";
}

// Prints the power of the boards in the calls, a line for each point that states it.
void print_boards(const Answer& a, const char* size) {
  const bool knobs = std::any_of(a.points.begin(), a.points.end(),
                                 [](const Point& p) { return p.find("clock") != nullptr; });
  if (!knobs && a.points.size() > 1) return;
  bool first = true;
  for (const Point& p : a.points) {
    const Metric *power = p.find("power"), *energy = p.find("energy");
    if (power == nullptr || energy == nullptr) continue;
    if (first)
      fmt::print("\n{:>6} {:>11} {:>9} {:>9} {:>9}   {}\n", "gpus", size, "clock MHz", "board W",
                 "90 %", "energy of all boards");
    first = false;
    const Metric joules = readable(*energy);
    fmt::print("{:>6} {:>11} {:>9} {:>9} {:>9}   {} {}\n", text_at(p, "gpus"), text_at(p, size),
               number_at(p, "clock"), number(power->value), width90(*power), number(joules.value),
               joules.unit);
  }
}

// One line a point, 80 columns.
void print_collectives(const Answer& a) {
  if (print_replay(a)) return;
  const bool exchange = text_at(a.points[0], "collective").starts_with("moe-");
  fmt::print("{:>6} {:>11} {:>9} {:>9} {:>6} {:>6} {:<16} {}\n", "gpus",
             exchange ? "tokens" : "bytes", "time us", "90 %", "algbw", "busbw", "by",
             "limited by");
  Notes notes;
  for (const Point& p : a.points) {
    const Metric& t = *p.find("time");
    std::string by = text_at(p, "algorithm"), limit = text_at(p, "limit");
    if (const std::string protocol = text_at(p, "protocol"); !protocol.empty())
      by += " " + protocol;
    if (!limit.empty()) by = fmt::format("{:<16} {}", by, limit);
    fmt::print("{:>6} {:>11} {:>9} {:>9} {:>6} {:>6} {}\n", text_at(p, "gpus"),
               text_at(p, exchange ? "tokens" : "bytes"), number(t.value), width90(t),
               number_at(p, "algbw"), number_at(p, "busbw"), by);
    for (const std::string& note : p.notes) notes.add(note);
  }
  print_boards(a, exchange ? "tokens" : "bytes");
  print_call_accounts(a, std::array<std::string_view, 2>{"gpus", exchange ? "tokens" : "bytes"});
  if (a.points.size() == 1 && !a.points[0].limit.empty()) notes.add(a.points[0].limit);
  if (a.optimum) notes.add(describe(*a.optimum, a.points));
  notes.print();
}

void answer(const NetworkFlags& flags, Context& context) {
  const Bundle bundle = context.bundle();
  RunOptions options;
  options.meter = &context.progress.meter();
  const ScenarioSweep asked = flags.question().points(bundle);
  const Answer a = Runner(bundle).run(asked, options);
  write_picture(a, flags.plot, "sweep", "--plot");
  print(a, asked, flags.output, {}, print_collectives);
}

}  // namespace

void add_network(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "network",
      "Predicts time and bandwidth of collectives: all-reduce, all-gather, all-to-all, ...");
  auto flags = std::make_shared<NetworkFlags>(*app, "network");
  add_output_flags(*app, flags->output, false);
  app->add_option("--plot", flags->plot,
                  "draw bus bandwidth over size, as SVG, or as a page if the name ends in .html")
      ->group("output")
      ->type_name("FILE");
  app->footer(
      "SIZES: 64K, 8 MiB, 1 GB, lists and ranges (1K-16G*4); a bare K, M, G is binary\n"
      "as in nccl-tests.\n"
      "Examples:\n"
      "  orrery network all-reduce --bytes 1K-1G*4 --gpus 8,64 --fabric h100-ib400\n"
      "  orrery network all-to-all --bytes 256M --gpus 16 --gpu mi300x -o csv\n"
      "  orrery network all-reduce --bytes 1G --gpus 64 -g h100-sxm --algorithm ring\n"
      "  orrery network all-reduce --bytes 1G --gpus 8 -g h100-sxm \\\n"
      "    --clock 700MHz,1980MHz --objective energy\n"
      "  orrery network moe-dispatch --gpus 32 -g h800-sxm --mode low-latency\n"
      "  orrery network all-reduce --bytes 1G --gpus 64 -g h100-sxm --fidelity flow \\\n"
      "    --degrade gpu3-rail3.leaf0=0.5\n"
      "  orrery network --topology cluster.yaml --chakra traces/llama\n"
      "  orrery network all-gather --bytes 1M --topology hgx.yml --as astra-sim");
  app->callback([flags, &context] { answer(*flags, context); });
}

}  // namespace orrery::cli
