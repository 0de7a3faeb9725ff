#include "orrery/scenario/kinds/edge/edge_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "orrery/scenario/answer/answer_text.h"

namespace orrery {
namespace {

std::string cut(const std::string& text, std::size_t columns) {
  return text.size() > columns ? text.substr(0, columns - 2) + ".." : text;
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

std::string network_line(const Point& p) {
  const bool energy = p.find("energy_per_inference") != nullptr;
  return fmt::format("{:<22} {:<20} {:>9} {:>9} {:>8}{}\n", cut(text_at(p, "network"), 22),
                     cut(text_at(p, "device"), 20),
                     p.feasibility.fits ? value_of(p, "latency") : "no room",
                     range_of(p, "latency"), value_of(p, "macs"),
                     energy ? fmt::format(" {:>7}", value_of(p, "energy_per_inference")) : "");
}

std::string llm_line(const Point& p) {
  const bool fits = p.feasibility.fits;
  return fmt::format("{:<16} {:<7} {:<18} {:>9} {:>9} {:>9} {:>6}\n",
                     cut(text_at(p, "network"), 16), text_at(p, "format"),
                     cut(text_at(p, "device"), 18), value_of(p, "prefill_throughput"),
                     fits ? value_of(p, "output_throughput") : "no room",
                     range_of(p, "output_throughput"), value_of(p, "memory"));
}

std::string rows_of(const Point& p) {
  std::string out, phase;
  for (const KernelRow& k : p.kernels) {
    if (k.phase != phase)
      out += fmt::format("\n{:<32} {:>9} {:>6}  {}\n", k.phase, "ms", "share", "size");
    phase = k.phase;
    out += fmt::format("{:<32} {:>9} {:>5.1f}%  {}\n", cut(k.name, 32),
                       number(k.time.value.value() * 1e3), 100 * k.share, cut(k.sizes, 29));
  }
  if (!p.memory.empty()) out += fmt::format("\nmemory per {}\n", p.memory_of);
  for (const MemoryRow& m : p.memory)
    out += fmt::format("{:<32} {:>9} GB\n", m.name, number(m.size.value() / 1e9));
  if (!p.memory.empty())
    out += fmt::format("{:<32} {:>9} GB\n", "capacity", number(p.memory_capacity.value() / 1e9));
  return out + "\n";
}

// The part of a note before its first colon, or all of it.
std::string beginning(const std::string& note) { return note.substr(0, note.find(": ")); }

// A note is shown once, with the devices that it is about unless these are many. Of notes that
// begin alike up to a colon and are many, the beginning alone is.
std::string notes_of(const Answer& a) {
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
    for (const std::string& note : p.notes) add(note, text_at(p, "device"));
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
  return printed.text();
}

std::string table(const Answer& a, bool explain) {
  std::string out;
  const bool energy = std::ranges::any_of(
      a.points, [](const Point& p) { return p.find("energy_per_inference") != nullptr; });
  const Point* last = nullptr;
  for (const Point& p : a.points) {
    const bool llm = is_llm(p);
    if (last == nullptr || is_llm(*last) != llm) {
      out += llm ? fmt::format("{:<16} {:<7} {:<18} {:>9} {:>9} {:>9} {:>6}\n", "model", "format",
                               "device", "prefill/s", "decode/s", "90 %", "GB")
                 : fmt::format("{:<22} {:<20} {:>9} {:>9} {:>8}{}\n", "network", "device", "ms",
                               "90 %", "GMAC", energy ? "      mJ" : "");
    }
    last = &p;
    out += llm ? llm_line(p) : network_line(p);
    if (explain) out += rows_of(p);
  }
  return out + notes_of(a);
}

}  // namespace

std::string edge_table(const Answer& a) { return table(a, false); }
std::string edge_explained(const Answer& a) { return table(a, true); }

}  // namespace orrery
