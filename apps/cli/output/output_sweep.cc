// The table of a sweep.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "orrery/scenario/answer/optimum.h"

namespace orrery::cli {
namespace {

// The column that says whether a service meets the limits of its SLO. It is no metric.
constexpr const char* kMeetsSlo = "slo";

// Metrics in the order of interest. The other formats print all metrics, and so does the table
// where an answer has none of these.
constexpr const char* kShown[] = {"max_rate",
                                  "latency",
                                  "ttft",
                                  "ttft_p99",
                                  "tpot",
                                  "tpot_p99",
                                  "goodput",
                                  "slo_attainment",
                                  kMeetsSlo,
                                  "output_throughput",
                                  "prefill_throughput",
                                  "iteration_time",
                                  "throughput_per_gpu",
                                  "mfu",
                                  "scaling_efficiency",
                                  "bubble",
                                  "time_to_train",
                                  "cost",
                                  "memory",
                                  "max_concurrency",
                                  "e2e",
                                  "time",
                                  "algbw",
                                  "busbw",
                                  "rate",
                                  "bandwidth",
                                  "kv_cache_per_request"};
// Metrics that are shown only if there is room for them in the first block.
constexpr std::string_view kWithRoom[] = {"scaling_efficiency", "max_concurrency", "e2e",
                                          "kv_cache_per_request"};

struct Column {
  std::string title;
  std::vector<std::string> cells;
  std::size_t width() const {
    std::size_t most = title.size();
    for (const std::string& cell : cells) most = std::max(most, cell.size());
    return most + 2;
  }
};

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t sum = 0;
  for (const Column& c : columns) sum += c.width();
  return sum;
}

std::string text_of(const nlohmann::ordered_json& at, const std::string& key) {
  const auto value = at.find(key);
  return value == at.end() ? "" : value->is_string() ? value->get<std::string>() : value->dump();
}

// Columns for the keys whose values differ between points.
std::vector<Column> places_of(const Answer& a) {
  std::vector<std::string> keys;
  for (const Point& p : a.points) {
    for (const auto& [key, value] : p.at.items()) {
      if (!value.is_structured() && std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
    }
  }
  // In training the question states the GPUs, and dp follows from the rest of the plan.
  const nlohmann::ordered_json& at = a.points[0].at;
  const bool scales = at.contains("global_batch") && at.contains("gpus") &&
                      std::any_of(a.points.begin(), a.points.end(), [&](const Point& p) {
                        return text_of(p.at, "gpus") != text_of(at, "gpus");
                      });
  std::vector<Column> columns;
  for (const std::string& key : keys) {
    if (key == "sizes" || (scales && key == "dp")) continue;
    Column column{key, {}};
    for (const Point& p : a.points) column.cells.push_back(text_of(p.at, key));
    if (std::any_of(column.cells.begin(), column.cells.end(),
                    [&](const std::string& cell) { return cell != column.cells.front(); }))
      columns.push_back(std::move(column));
  }
  return columns;
}

// A metric over the points; no title if none has it.
Column metric_column(const Answer& a, const std::string& name) {
  Column column;
  for (const Point& p : a.points) {
    const Metric* m = p.find(name);
    column.cells.push_back(m ? number(m->value) : "-");
    if (m == nullptr) continue;
    column.title = name == "output_throughput"    ? "output " + m->unit
                   : name == "prefill_throughput" ? "prefill " + m->unit
                   : name == "memory"             ? m->unit
                   : name == "throughput_per_gpu" ? m->unit + " per GPU"
                                                  : name + " " + m->unit;
  }
  return column;
}

// Whether each point meets the limits of its SLO; no title if none has limits.
Column slo_column(const Answer& a) {
  Column column;
  for (const Point& p : a.points) {
    column.cells.push_back(!p.meets_slo ? "-" : *p.meets_slo ? "met" : "missed");
    if (p.meets_slo) column.title = kMeetsSlo;
  }
  return column;
}

std::vector<std::string> shown(const Answer& a) {
  std::vector<std::string> names, all;
  for (const Point& p : a.points) {
    for (const Metric& m : p.metrics) {
      if (std::find(all.begin(), all.end(), m.name) == all.end()) all.push_back(m.name);
    }
  }
  for (const std::string name : kShown) {
    if (name == kMeetsSlo || std::find(all.begin(), all.end(), name) != all.end())
      names.push_back(name);
  }
  return names.size() > 1 ? names : all;  // more than the limits
}

// The marks of points without an answer, and what they mean.
struct Marks {
  std::vector<std::string> of_point, reasons;

  explicit Marks(const Answer& a) {
    for (const Point& p : a.points) {
      std::string mark;
      if (!p.feasibility.fits) {
        const auto at = std::find(reasons.begin(), reasons.end(), p.feasibility.reason);
        mark = fmt::format(" ({})", at - reasons.begin() + 1);
        if (at == reasons.end()) reasons.push_back(p.feasibility.reason);
      }
      of_point.push_back(std::move(mark));
    }
  }

  std::size_t width() const {
    std::size_t most = 0;
    for (const std::string& mark : of_point) most = std::max(most, mark.size());
    return most;
  }

  std::string explained(std::size_t columns) const {
    constexpr std::size_t kMost = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(kMost, reasons.size()); ++i) {
      const std::string lead = fmt::format("({}) ", i + 1);
      out += wrapped(lead + reasons[i], columns, std::string(lead.size(), ' ')).substr(lead.size());
    }
    if (reasons.size() > kMost)
      out += fmt::format("and {} more reasons: -o csv\n", reasons.size() - kMost);
    return out;
  }
};

std::string block(const std::vector<Column>& columns, const Marks& marks, bool colour) {
  std::string title;
  for (const Column& c : columns) title += fmt::format("{:>{}}", c.title, c.width());
  std::string out = colour ? "\x1b[1m" + title + "\x1b[0m\n" : title + "\n";
  for (std::size_t i = 0; i < marks.of_point.size(); ++i) {
    for (const Column& c : columns) out += fmt::format("{:>{}}", c.cells[i], c.width());
    out += marks.of_point[i] + "\n";
  }
  return out;
}

}  // namespace

std::string sweep_table(const Answer& a, bool colour, std::size_t columns) {
  const Marks marks(a);
  const std::vector<Column> places = places_of(a);
  std::vector<std::vector<Column>> blocks = {places};
  for (const std::string& name : shown(a)) {
    Column column = name == kMeetsSlo ? slo_column(a) : metric_column(a, name);
    if (column.title.empty()) continue;
    const bool fits = width_of(blocks.back()) + column.width() + marks.width() <= columns;
    if (!fits && std::find(std::begin(kWithRoom), std::end(kWithRoom), name) != std::end(kWithRoom))
      continue;
    if (!fits && blocks.back().size() > places.size()) blocks.push_back(places);
    blocks.back().push_back(std::move(column));
  }
  std::string out;
  for (const std::vector<Column>& b : blocks)
    out += (out.empty() ? "" : "\n") + block(b, marks, colour);
  out += marks.explained(columns);
  if (a.optimum) out += wrapped(describe(*a.optimum, a.points), columns, "");
  const std::string rest = "intervals, origins, breakdown and memory of each: -o json";
  return out + (colour ? "\x1b[2m" + rest + "\x1b[0m" : rest) + "\n";
}

}  // namespace orrery::cli
