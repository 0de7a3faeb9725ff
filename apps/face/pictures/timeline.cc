#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {
namespace {

using Json = nlohmann::ordered_json;
using TraceRow = std::pair<std::int64_t, std::int64_t>;  // process and thread

TraceRow row_of(const Json& event) { return {event.value("pid", 0), event.value("tid", 0)}; }

// A slice's class of work: the words of its name before the first number, where the letters of
// passes are spelled out.
std::string kind_of(const Json& slice) {
  const std::string name = slice.value("name", "");
  std::string kind = name.substr(0, name.find_first_of("0123456789"));
  while (kind.ends_with(' ')) kind.pop_back();
  for (const auto& [letter, word] :
       {std::pair{"F", "forward"}, {"B", "backward"}, {"W", "weight gradients"}})
    if (kind == letter) return word;
  return kind.empty() ? name : kind;
}

}  // namespace

std::string draw_timeline(const Answer& a) {
  constexpr std::size_t kMostBoxes = 6000, kMostRows = 40;
  if (a.points.size() != 1) return "";
  const Timeline timeline = a.points.front().timeline();
  const Json trace = Json::parse(timeline.trace, nullptr, false);
  if (!trace.is_object() || !trace.contains("traceEvents")) return "";
  std::vector<TraceRow> rows;
  std::map<TraceRow, std::string> names;
  std::vector<const Json*> slices;
  bool all = true;
  for (const Json& e : trace["traceEvents"]) {
    const std::string phase = e.value("ph", "");
    if (phase == "M" && e.contains("args")) {
      const bool thread = e.value("name", "") == "thread_name";
      if (thread || !names.contains(row_of(e))) names[row_of(e)] = e["args"].value("name", "");
    }
    if (phase != "X") continue;
    all = slices.size() < kMostBoxes;
    if (!all) break;
    if (std::find(rows.begin(), rows.end(), row_of(e)) == rows.end()) rows.push_back(row_of(e));
    slices.push_back(&e);
  }
  if (slices.empty() || rows.size() > kMostRows) return "";
  std::sort(rows.rbegin(), rows.rend());  // the first on top
  PlotAxis y{"", false, {}};
  for (const TraceRow& row : rows)
    y.names.push_back(names.contains(row) ? names[row] : fmt::format("{}", row.second));
  const std::string& what = timeline.title;
  Plot plot(all ? what : fmt::format("{} (the first {})", what, kMostBoxes), {"ms", false, {}}, y);
  std::vector<std::string> kinds;
  for (const Json* e : slices) {
    const auto place = std::find(rows.begin(), rows.end(), row_of(*e)) - rows.begin();
    const double from = e->value("ts", 0.0) / 1e3, lasts = e->value("dur", 0.0) / 1e3;
    plot.box(place_in(kinds, kind_of(*e)), from, from + lasts, static_cast<double>(place), 0.36,
             fmt::format("{}: {} ms", e->value("name", ""), short_number(lasts)));
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) plot.key(static_cast<int>(i), kinds[i]);
  return plot.svg();
}

}  // namespace orrery::face
