// The table that a person reads: at most `columns` wide.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/output.h"

namespace orrery::cli {
namespace {

struct Style {
  bool colour;
  std::string bold(const std::string& s) const { return colour ? "\x1b[1m" + s + "\x1b[0m" : s; }
  std::string dim(const std::string& s) const { return colour ? "\x1b[2m" + s + "\x1b[0m" : s; }
};

// Breaks a sentence at spaces.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent) {
  std::string out, line = indent;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string head(const Point& p) {
  std::string out;
  for (const auto& [key, value] : p.at.items()) {
    if (value.is_structured()) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : "  ", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::string kernels_of(const Point& p, const std::string& phase, std::size_t columns, const Style& style) {
  std::string out;
  std::vector<const KernelRow*> rows;
  Seconds whole;
  for (const KernelRow& k : p.kernels) {
    if (k.phase != phase) continue;
    rows.push_back(&k);
    whole += k.time.value;
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->time.value > b->time.value; });
  out += style.bold(fmt::format("{} step, {}", phase, to_text(whole))) + "\n";
  out += style.dim(fmt::format("  {:<18} {:>6} {:>10} {:>7}  {:<8} {:>5}  {:<11} {}", "kernel", "calls", "time", "share",
                               "bound", "peak", "tier", "90 %")) + "\n";
  for (const KernelRow* k : rows) {
    std::string line = fmt::format(
        "  {:<18} {:>6} {:>10} {:>6.1f}%  {:<8} {:>5}  {:<11} +-{:.0f}%", k->name.substr(0, 18), number(k->calls),
        to_text(k->time.value), k->share * 100, k->bound, k->of_peak > 0 ? fmt::format("{:.0f}%", k->of_peak * 100) : "",
        to_text(k->time.origin), k->time.sigma() * 164.5);
    out += line.substr(0, columns) + "\n";
  }
  return out;
}

// Many points: one line each.
std::string sweep_table(const Answer& a, std::size_t columns, const Style& style) {
  std::vector<std::string> keys, names;
  for (const auto& [key, value] : a.points[0].at.items()) {
    const bool varies = std::any_of(a.points.begin(), a.points.end(), [&key = key, &value = value](const Point& p) {
      return p.at[key] != value;
    });
    if (varies) keys.push_back(key);
  }
  for (const char* name : {"ttft", "tpot", "e2e", "output_throughput", "memory"}) names.push_back(name);
  std::string title;
  for (const std::string& key : keys) title += fmt::format("{:>8}", key);
  for (const std::string& name : names) {
    std::string unit;
    for (const Point& p : a.points) {
      if (const Metric* m = p.find(name)) unit = m->unit;
    }
    const std::string label = name == "output_throughput" ? "output tok/s" : name == "memory" ? "memory GB" : name + " " + unit;
    title += fmt::format("{:>14}", label);
  }
  std::string out = style.bold(title.substr(0, columns)) + "\n";
  for (const Point& p : a.points) {
    std::string line;
    for (const std::string& key : keys) line += fmt::format("{:>8}", p.at[key].dump());
    for (const std::string& name : names) {
      const Metric* m = p.find(name);
      line += fmt::format("{:>14}", m ? number(m->value) : "-");
    }
    if (!p.feasibility.fits) line += "  does not fit";
    out += line.substr(0, columns) + "\n";
  }
  return out;
}

}  // namespace

std::string table(const Answer& a, bool breakdown, bool colour, int width) {
  const Style style{colour};
  const auto columns = static_cast<std::size_t>(width);
  std::string out;
  if (a.points.size() > 1) {
    out = sweep_table(a, columns, style);
    out += style.dim("each with its interval, breakdown and memory: -o json") + "\n";
    return out;
  }
  for (const Point& p : a.points) {
    out += style.bold(head(p)) + "\n\n";
    if (!p.feasibility.fits) out += wrapped("DOES NOT FIT: " + p.feasibility.reason, columns, "") + "\n";
    if (!p.metrics.empty()) out += style.dim(fmt::format("{:<28} {:>12} {:<10} {:<22} {}", "", "", "", "90 % interval", "origin")) + "\n";
    for (const Metric& m : p.metrics) {
      out += fmt::format("{:<28} {:>12} {:<10} {:<22} {}", m.name, number(m.value), m.unit, interval90(m), to_text(m.origin))
                 .substr(0, columns) + "\n";
    }
    if (!p.memory.empty()) {
      Bytes total;
      out += "\n" + style.bold("memory per GPU") + "\n";
      for (const MemoryRow& m : p.memory) {
        out += fmt::format("  {:<26} {:>10.3f} GB\n", m.name, m.size.value() / 1e9);
        total += m.size;
      }
      out += fmt::format("  {:<26} {:>10.3f} GB of {:.3f} GB\n", "total", total.value() / 1e9, p.memory_capacity.value() / 1e9);
    }
    if (breakdown) {
      for (const char* phase : {"prefill", "decode"}) {
        const std::string rows = kernels_of(p, phase, columns, style);
        if (!rows.empty()) out += "\n" + rows;
      }
    }
    if (!p.limit.empty()) out += "\n" + wrapped(p.limit, columns, "");
    if (!p.notes.empty()) out += "\n" + style.dim("assumed") + "\n";
    for (const std::string& note : p.notes) out += wrapped("- " + note, columns, "  ");
  }
  return out;
}

}  // namespace orrery::cli
