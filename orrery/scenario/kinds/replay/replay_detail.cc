#include "orrery/scenario/kinds/replay/replay_detail.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/scenario/answer/answer_text.h"

namespace orrery {
namespace {

using Part = ReplayRow::Part;

// At most seven characters up to 10^7 ms, so that columns do not touch. Empty: no time.
std::string ms_text(Seconds t, bool shown) {
  if (!shown) return "";
  const double ms = t.value() * 1e3;
  return fmt::format("{:.{}f}", ms, ms < 999.9995 ? 3 : ms < 99999.95 ? 1 : 0);
}

// Whether something was asked that the trace was not recorded with.
bool is_changed(const Point& p) { return p.find("time_ratio") != nullptr; }

// The cells after a row's name: kernels, and the times of the replay and of what was asked.
std::vector<std::string> cells_of(const ReplayRow& row, bool changed) {
  const bool is_class = row.part == Part::kClass;
  const double n = row.kernels;
  std::vector<std::string> cells = {is_class ? fmt::format("{:.{}f}", n, n == std::floor(n) ? 0 : 1)
                                             : ""};
  const auto add = [&](const ReplayRow::Times& t) {
    cells.push_back(ms_text(t.busy, is_class));
    cells.push_back(ms_text(t.exposed, is_class || row.part == Part::kIdle));
    cells.push_back(ms_text(t.critical, is_class || row.part == Part::kPath));
  };
  add(row.replayed);
  if (changed) add(row.what_if);
  return cells;
}

nlohmann::ordered_json json_of(const ReplayRow& row) {
  constexpr const char* kParts[] = {"class", "idle", "path", "stream"};
  const auto times = [](const ReplayRow::Times& t) -> nlohmann::ordered_json {
    return {{"busy_ms", rounded(t.busy.value() * 1e3)},
            {"exposed_ms", rounded(t.exposed.value() * 1e3)},
            {"critical_ms", rounded(t.critical.value() * 1e3)}};
  };
  return {{"part", kParts[static_cast<int>(row.part)]},
          {"name", row.name},
          {"kernels", rounded(row.kernels)},
          {"replayed", times(row.replayed)},
          {"what_if", times(row.what_if)}};
}

}  // namespace

void ReplayDetail::add_json(nlohmann::ordered_json& point) const {
  for (const ReplayRow& row : rows) point["replay"].push_back(json_of(row));
}

std::string ReplayDetail::text(const Point& p) const {
  const bool changed = is_changed(p);
  std::string out = fmt::format("{:>47}{}\n", "replayed, ms",
                                changed ? fmt::format("{:>25}", "what-if, ms") : "");
  out +=
      fmt::format("{:<19} {:>7} {:>9}{:>9}{:>9}{}\n", "", "kernels", "busy", "exposed", "critical",
                  changed ? fmt::format("{:>8}{:>8}{:>9}", "busy", "exposed", "critical") : "");
  constexpr int kWidths[] = {7, 9, 9, 9, 8, 8, 9};
  std::string streams, whole;
  for (const ReplayRow& row : rows) {
    if (row.part == Part::kStream) {
      streams +=
          fmt::format("{}: busy {} ms of {}\n", row.name, ms_text(row.what_if.busy, true), whole);
      continue;
    }
    if (row.name == "step") whole = ms_text(row.what_if.critical, true);
    out += fmt::format("{:<19} ", row.name);
    const std::vector<std::string> cells = cells_of(row, changed);
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("{:>{}}{}", cells[i], kWidths[i], i == 0 ? " " : "");
    out += "\n";
  }
  return out + "\n" + streams;
}

std::string ReplayDetail::markdown(const Point& p) const {
  const bool changed = is_changed(p);
  std::vector<std::string> head = {"", "kernels", "busy ms", "exposed ms", "critical ms"};
  if (changed) head.insert(head.end(), {"what-if busy ms", "exposed ms", "critical ms"});
  std::string out = markdown_row(head) + "|---|";
  for (std::size_t i = 1; i < head.size(); ++i) out += "---:|";
  out += "\n";
  for (const ReplayRow& row : rows) {
    if (row.part == Part::kStream) continue;
    std::vector<std::string> cells = cells_of(row, changed);
    cells.insert(cells.begin(), row.name);
    out += markdown_row(cells);
  }
  return out;
}

}  // namespace orrery
