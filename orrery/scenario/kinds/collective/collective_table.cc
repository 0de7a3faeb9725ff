#include "orrery/scenario/kinds/collective/collective_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/scenario/answer/answer_text.h"
#include "orrery/scenario/answer/optimum.h"
#include "orrery/scenario/setup/call_account_table.h"

namespace orrery {
namespace {

// A metric that a point may lack.
std::string number_at(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  return m == nullptr ? "" : number(m->value);
}

std::string width90(const Metric& m) {
  return m.has_interval() ? spread90(m.value, m.low90, m.high90) : "";
}

// The power of the boards in the calls, a line for each point that states it.
std::string board_table(const Answer& a, const char* size) {
  const bool knobs = std::any_of(a.points.begin(), a.points.end(),
                                 [](const Point& p) { return p.find("clock") != nullptr; });
  if (!knobs && a.points.size() > 1) return "";
  std::string out;
  for (const Point& p : a.points) {
    const Metric *power = p.find("power"), *energy = p.find("energy");
    if (power == nullptr || energy == nullptr) continue;
    if (out.empty())
      out += fmt::format("\n{:>6} {:>11} {:>9} {:>9} {:>9}   {}\n", "gpus", size, "clock MHz",
                         "board W", "90 %", "energy of all boards");
    const Metric joules = readable(*energy);
    out += fmt::format("{:>6} {:>11} {:>9} {:>9} {:>9}   {} {}\n", text_at(p, "gpus"),
                       text_at(p, size), number_at(p, "clock"), number(power->value),
                       width90(*power), number(joules.value), joules.unit);
  }
  return out;
}

// Replays of Chakra traces, a line each.
std::string trace_table(const Answer& answer) {
  std::string out = fmt::format("{:>6} {:>11} {:>19} {:>13} {:>11}  {}\n", "gpus", "time us",
                                "90 %", "computing us", "exposed us", "fidelity");
  for (const Point& p : answer.points) {
    const Metric& time = *p.find("time");
    out += fmt::format("{:>6} {:>11} {:>19} {:>13} {:>11}  {}\n", p.at["gpus"].get<int>(),
                       number(time.value), interval90(time), number(p.find("computing")->value),
                       number(p.find("exposed")->value), p.at["fidelity"].get<std::string>());
    for (const std::string& note : p.notes) out += wrapped(note, 80, "  ");
  }
  return out;
}

}  // namespace

// One line a point, 80 columns.
std::string collective_table(const Answer& a) {
  if (a.points[0].at.contains("trace")) return trace_table(a);
  const bool exchange = text_at(a.points[0], "collective").starts_with("moe-");
  std::string out = fmt::format("{:>6} {:>11} {:>9} {:>9} {:>6} {:>6} {:<16} {}\n", "gpus",
                                exchange ? "tokens" : "bytes", "time us", "90 %", "algbw", "busbw",
                                "by", "limited by");
  Notes notes;
  for (const Point& p : a.points) {
    const Metric& t = *p.find("time");
    std::string by = text_at(p, "algorithm"), limit = text_at(p, "limit");
    if (const std::string protocol = text_at(p, "protocol"); !protocol.empty())
      by += " " + protocol;
    if (!limit.empty()) by = fmt::format("{:<16} {}", by, limit);
    out += fmt::format("{:>6} {:>11} {:>9} {:>9} {:>6} {:>6} {}\n", text_at(p, "gpus"),
                       text_at(p, exchange ? "tokens" : "bytes"), number(t.value), width90(t),
                       number_at(p, "algbw"), number_at(p, "busbw"), by);
    for (const std::string& note : p.notes) notes.add(note);
  }
  if (a.points.size() == 1 && !a.points[0].limit.empty()) notes.add(a.points[0].limit);
  if (a.optimum) notes.add(describe(*a.optimum, a.points));
  const char* size = exchange ? "tokens" : "bytes";
  return out + board_table(a, size) + call_account_table(a, {"gpus", size}) + notes.text();
}

}  // namespace orrery
