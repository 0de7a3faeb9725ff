// The table that a person reads: no line wider than `columns`.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"

namespace orrery::cli {
namespace {

struct Style {
  bool colour;
  std::string bold(const std::string& s) const { return colour ? "\x1b[1m" + s + "\x1b[0m" : s; }
  std::string dim(const std::string& s) const { return colour ? "\x1b[2m" + s + "\x1b[0m" : s; }
};

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Metrics that come as a distribution (ttft, ttft_p50, ttft_p90, ttft_p99): one line each.
bool is_distribution(const Point& p, std::string_view name) {
  return p.find(fmt::format("{}_p50", name)) && p.find(fmt::format("{}_p90", name)) &&
         p.find(fmt::format("{}_p99", name));
}

bool in_distribution(const Point& p, const Metric& m) {
  if (!m.percentile) return is_distribution(p, m.name);
  const std::size_t end = m.name.size() - percentile_name("", *m.percentile).size();
  return is_distribution(p, std::string_view(m.name).substr(0, end));
}

std::string distributions_of(const Point& p, const Style& style) {
  std::vector<std::array<const Metric*, 4>> rows;  // mean, p50, p90, p99
  std::size_t longest = 8;
  for (const Metric& m : p.metrics) {
    if (!is_distribution(p, m.name)) continue;
    rows.push_back({&m, p.find(m.name + "_p50"), p.find(m.name + "_p90"), p.find(m.name + "_p99")});
    longest = std::max(longest, m.name.size());
  }
  if (rows.empty()) return "";
  const int wide = longest > 8 ? 8 : 10;  // of a figure: 80 columns in all
  const auto line = [&](std::string_view name, const std::array<std::string, 4>& figures,
                        std::string_view unit, std::string_view interval) {
    std::string out = fmt::format("{:<{}}", name, longest);
    for (const std::string& f : figures) out += fmt::format(" {:>{}}", f, wide);
    return trimmed(fmt::format("{} {:<4} {}", out, unit, interval));
  };
  std::string out =
      style.dim(line("", {"mean", "p50", "p90", "p99"}, "", "mean, 90 % interval")) + "\n";
  for (const auto& [mean, p50, p90, p99] : rows)
    out += line(mean->name,
                {number(mean->value), number(p50->value), number(p90->value), number(p99->value)},
                mean->unit, interval90(*mean)) +
           "\n";
  return out + "\n";
}

std::string metrics_of(const Point& p, const Style& style) {
  constexpr std::size_t kMostName = 22;  // with it, the line of a usual interval has 80 columns
  std::size_t longest = 20;
  for (const Metric& m : p.metrics) longest = std::max(longest, std::min(m.name.size(), kMostName));
  const std::string line = fmt::format("{{:<{}}} {{:>10}} {{:<10}}  {{:<20}} {{}}", longest);
  std::string out = distributions_of(p, style);
  if (p.metrics.empty()) return out;
  out += style.dim(fmt::format(fmt::runtime(line), "", "", "", "90 % interval", "origin")) + "\n";
  for (const Metric& own : p.metrics) {
    if (in_distribution(p, own)) continue;
    const Metric m = readable(own);
    // A long name has a line to itself.
    const bool fits = m.name.size() <= longest;
    if (!fits) out += m.name + "\n";
    out += fmt::format(fmt::runtime(line), fits ? m.name : "", number(m.value), m.unit,
                       interval90(m), to_text(m.origin)) +
           "\n";
  }
  return out;
}

// "1,234,567": a whole number with its digits in groups.
std::string grouped(double v) {
  std::string out = fmt::format("{:.0f}", v);
  for (std::size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

std::string memory_of(const Point& p, const Style& style) {
  if (p.memory.empty()) return "";
  std::string out = style.bold("memory per " + p.memory_of) + "\n";
  Bytes total;
  for (const MemoryRow& m : p.memory) {
    out += fmt::format("  {:<18} {:>10.3f} GB\n", m.name, m.size.value() / 1e9);
    total += m.size;
  }
  return out + fmt::format("  {:<18} {:>10.3f} GB of {:.3f} GB\n", "total", total.value() / 1e9,
                           p.memory_capacity.value() / 1e9);
}

std::string energy_rows(const std::vector<EnergyRow>& rows, const std::string& title,
                        const Style& style) {
  std::string out = style.bold(title) + "\n";
  Joules total;
  for (const EnergyRow& e : rows) total += e.energy;
  const auto line = [&](const std::string& name, Joules energy) {
    return fmt::format("  {:<18} {:>10.2f} J  {:>5.1f}%\n", name, energy.value(),
                       100 * (energy / total));
  };
  for (const EnergyRow& e : rows) out += line(e.name, e.energy);
  return out + line("total", total);
}

std::string energy_of(const Point& p, const Style& style) {
  std::string out;
  if (!p.energy.empty()) out = energy_rows(p.energy, "energy per " + p.energy_of, style);
  if (!p.energy_by_kernel.empty())
    out += "\n" + energy_rows(p.energy_by_kernel,
                              "energy per " + p.energy_of + ", by kind of kernel", style);
  return out;
}

// The two lines about the KV cache that vLLM logs at its start, for comparison.
std::string kv_log_of(const Point& p, const Style& style) {
  const Metric *tokens = p.find("kv_tokens"), *length = p.find("request_tokens"),
               *concurrency = p.find("kv_concurrency");
  if (!tokens || !length || !concurrency) return "";
  return style.bold("as vLLM logs it (all data-parallel ranks together)") +
         fmt::format(
             "\n  GPU KV cache size: {} tokens\n"
             "  Maximum concurrency for {} tokens per request: {:.2f}x\n",
             grouped(tokens->value), grouped(length->value), concurrency->value);
}

// The rows of one kernel and one size, in all kinds of layers.
struct KernelLine {
  const KernelRow* row;  // the first
  std::string name;
  double calls = 0, share = 0;
  Seconds time, low, high;

  void add(const KernelRow& k) {
    calls += k.calls, share += k.share;
    time += k.time.value, low += k.time.quantile(0.05), high += k.time.quantile(0.95);
  }
};

std::vector<KernelLine> lines_of(const Point& p, std::string_view phase) {
  std::vector<KernelLine> lines;
  const auto same = [](const KernelRow& a, const KernelRow& b) {
    return a.name == b.name && a.sizes == b.sizes && a.part == b.part && !a.sizes.empty();
  };
  for (const KernelRow& k : p.kernels) {
    if (k.phase != phase) continue;
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const KernelLine& l) { return same(*l.row, k); });
    if (line == lines.end()) line = lines.insert(lines.end(), {&k, k.name, 0, 0, {}, {}, {}});
    line->add(k);
  }
  for (KernelLine& line : lines) {
    const auto named = std::count_if(lines.begin(), lines.end(), [&](const KernelLine& l) {
      return l.row->name == line.row->name;
    });
    if (named > 1) line.name = line.row->shown();
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const KernelLine& a, const KernelLine& b) { return a.time > b.time; });
  return lines;
}

std::string kernels_of(const Point& p, std::string_view phase, const Style& style) {
  constexpr std::size_t kNameWidth = 18;
  constexpr std::string_view kLine = "  {:<18} {:>5} {:>8} {:>6}  {:<8} {:>4}  {:<11} {:>9}";
  const std::vector<KernelLine> lines = lines_of(p, phase);
  if (lines.empty()) return "";
  Seconds whole;
  for (const KernelLine& line : lines) whole += line.time;
  const char* step = phase == "iteration" || phase == "inference" ? "" : " step";
  std::string out = style.bold(fmt::format("{}{}, {}", phase, step, to_text(whole))) + "\n";
  out += style.dim(fmt::format(fmt::runtime(kLine), "kernel", "calls", "time", "share", "bound",
                               "peak", "tier", "90 %")) +
         "\n";
  for (KernelLine line : lines) {
    // A long name has a line to itself.
    if (line.name.size() > kNameWidth) out += "  " + line.name + "\n", line.name.clear();
    const KernelRow& k = *line.row;
    out += fmt::format(fmt::runtime(kLine), line.name, number(line.calls), to_text(line.time),
                       fmt::format("{:.1f}%", line.share * 100), k.bound,
                       k.of_peak > 0 ? fmt::format("{:.0f}%", k.of_peak * 100) : "",
                       to_text(k.time.origin),
                       spread90(line.time.value(), line.low.value(), line.high.value())) +
           "\n";
  }
  return out;
}

}  // namespace

std::string table(const Answer& a, bool breakdown, bool colour, std::size_t columns) {
  const Style style{colour};
  std::string out;
  const auto question = a.resolved.find("question");
  if (question != a.resolved.end() && !question->get<std::string>().empty()) {
    out += wrapped(question->get<std::string>(), columns, "") + "\n";
  }
  if (a.points.size() > 1) return out + sweep_table(a, colour, columns);
  for (const Point& p : a.points) {
    out += wrapped(place(p), columns, "") + "\n";
    if (!p.feasibility.fits) out += wrapped(misfit(p), columns, "") + "\n";
    out += metrics_of(p, style);
    const std::string memory = memory_of(p, style);
    if (!memory.empty()) out += "\n" + memory;
    if (const std::string log = kv_log_of(p, style); !log.empty()) out += "\n" + log;
    if (breakdown) {
      if (const std::string energy = energy_of(p, style); !energy.empty()) out += "\n" + energy;
      for (const char* phase : {"prefill", "decode", "iteration", "inference"}) {
        const std::string rows = kernels_of(p, phase, style);
        if (!rows.empty()) out += "\n" + rows;
      }
    }
    if (breakdown && p.detail) {
      if (const std::string own = p.detail->text(p); !own.empty()) out += "\n" + own;
    }
    if (!p.limit.empty()) out += "\n" + wrapped(p.limit, columns, "");
    if (!p.notes.empty()) out += "\n" + style.dim("assumed") + "\n";
    for (const std::string& note : p.notes) {
      std::string lines = wrapped(note, columns, "    ");
      out += lines.replace(2, 1, "-");
    }
  }
  // No spaces at the ends of lines.
  std::string clean;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = out.find('\n', at);
    clean += trimmed(out.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return clean;
}

}  // namespace orrery::cli
