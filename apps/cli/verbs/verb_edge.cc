// orrery edge: networks and LLMs on phones, boards, laptops and PCs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/question_flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/answers.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

// The flags: every key of a scenario's `edge`.
struct EdgeFlags : QuestionFlags {
  using QuestionFlags::QuestionFlags;
  bool explain = false;
};

std::string cut(const std::string& text, std::size_t columns) {
  return text.size() > columns ? text.substr(0, columns - 2) + ".." : text;
}

std::string text_of(const Point& p, const char* key) {
  const auto v = p.at.find(key);
  return v == p.at.end() ? "" : v->is_string() ? v->get<std::string>() : v->dump();
}

std::string value_of(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  return m == nullptr ? "-" : number(m->value);
}

std::string range_of(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  return m == nullptr ? "" : spread90(m->value, m->low90, m->high90);
}

bool is_llm(const Point& p) { return !p.memory.empty(); }

void print_network(const Point& p) {
  const bool energy = p.find("energy_per_inference") != nullptr;
  fmt::print("{:<22} {:<20} {:>9} {:>9} {:>8}{}\n", cut(text_of(p, "network"), 22),
             cut(text_of(p, "device"), 20), p.feasibility.fits ? value_of(p, "latency") : "no room",
             range_of(p, "latency"), value_of(p, "macs"),
             energy ? fmt::format(" {:>7}", value_of(p, "energy_per_inference")) : "");
}

void print_llm(const Point& p) {
  const bool fits = p.feasibility.fits;
  fmt::print("{:<16} {:<7} {:<18} {:>9} {:>9} {:>9} {:>6}\n", cut(text_of(p, "network"), 16),
             text_of(p, "format"), cut(text_of(p, "device"), 18), value_of(p, "prefill_throughput"),
             fits ? value_of(p, "output_throughput") : "no room", range_of(p, "output_throughput"),
             value_of(p, "memory"));
}

void print_rows(const Point& p) {
  std::string phase;
  for (const KernelRow& k : p.kernels) {
    if (k.phase != phase) fmt::print("\n{:<32} {:>9} {:>6}  {}\n", k.phase, "ms", "share", "size");
    phase = k.phase;
    fmt::print("{:<32} {:>9} {:>5.1f}%  {}\n", cut(k.name, 32), number(k.time.value.value() * 1e3),
               100 * k.share, cut(k.sizes, 29));
  }
  if (!p.memory.empty()) fmt::print("\nmemory per {}\n", p.memory_of);
  for (const MemoryRow& m : p.memory)
    fmt::print("{:<32} {:>9} GB\n", m.name, number(m.size.value() / 1e9));
  if (!p.memory.empty())
    fmt::print("{:<32} {:>9} GB\n", "capacity", number(p.memory_capacity.value() / 1e9));
  fmt::print("\n");
}

// The part of a note before its first colon, or all of it.
std::string beginning(const std::string& note) { return note.substr(0, note.find(": ")); }

// A note is printed once, with the devices that it is about unless these are many. Of notes that
// begin alike up to a colon and are many, the beginning alone is printed.
void print_notes(const Answer& a) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  const auto add = [&all](const std::string& note, const std::string& device) {
    const auto same = [&note](const auto& n) { return n.first == note; };
    auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end()) found = all.insert(all.end(), {note, {}});
    auto& of = found->second;
    if (std::find(of.begin(), of.end(), device) == of.end()) of.push_back(device);
  };
  Notes printed;
  for (const Point& p : a.points) {
    if (!p.feasibility.fits) printed.add(p.feasibility.reason);
    for (const std::string& note : p.notes) add(note, text_of(p, "device"));
  }
  constexpr std::size_t kNamed = 3;
  std::map<std::string, std::size_t> alike;
  for (const auto& [note, devices] : all) ++alike[beginning(note)];
  for (const auto& [note, devices] : all) {
    if (const std::string begins = beginning(note); alike[begins] > kNamed) {
      printed.add(begins);
      continue;
    }
    printed.add(devices.size() > kNamed ? note
                                        : fmt::format("{}: {}", fmt::join(devices, ", "), note));
  }
  printed.print();
}

void print_table(const Answer& a, bool explain) {
  const bool energy = std::ranges::any_of(
      a.points, [](const Point& p) { return p.find("energy_per_inference") != nullptr; });
  const Point* last = nullptr;
  for (const Point& p : a.points) {
    const bool llm = is_llm(p);
    if (last == nullptr || is_llm(*last) != llm)
      fmt::print("{}\n",
                 llm ? fmt::format("{:<16} {:<7} {:<18} {:>9} {:>9} {:>9} {:>6}", "model", "format",
                                   "device", "prefill/s", "decode/s", "90 %", "GB")
                     : fmt::format("{:<22} {:<20} {:>9} {:>9} {:>8}{}", "network", "device", "ms",
                                   "90 %", "GMAC", energy ? "      mJ" : ""));
    last = &p;
    llm ? print_llm(p) : print_network(p);
    if (explain) print_rows(p);
  }
  print_notes(a);
}

void answer(const EdgeFlags& flags, Context& context) {
  constexpr std::string_view kColumns[] = {"edge.network", "edge.device", "edge.format"};
  Runner runner = face::make_runner(context.bundle());
  const ScenarioSweep asked = flags.question().points(runner.bundle());
  RunOptions options;
  options.meter = &context.progress.meter();
  const Answer a = face::answer(runner, "edge", asked, options);
  print(
      a, asked, flags.output, kColumns,
      flags.explain ? +[](const Answer& with) { print_table(with, true); }
                    : +[](const Answer& without) { print_table(without, false); });
  context.exit_code = face::exit_code({&a, 1});
}

}  // namespace

void add_edge(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "edge",
      "Predicts the latency of a network (ONNX, ncnn), or the rates of an LLM with llama.cpp, on "
      "phones, boards, laptops and PCs.");
  auto flags = std::make_shared<EdgeFlags>(*app, "edge");
  add_output_flags(*app, flags->output, false);
  app->add_flag("--explain", flags->explain,
                "show each kernel, or each term of an LLM, with its time")
      ->group("output");
  app->footer(
      "Examples:\n"
      "  orrery edge mobilenet_v2,resnet50 --device raspberry-pi-5,rk3588\n"
      "  orrery edge llama-3.1-8b --device m4-max-40,rtx-4090 --format Q4_K_M,Q8_0\n"
      "  orrery edge model.onnx --device snapdragon-8-gen-2 --threads 4 --explain\n"
      "  orrery edge model.onnx --device jetson-orin-nano --measured mine.csv");
  app->callback([flags, &context] { answer(*flags, context); });
}

}  // namespace orrery::cli
