#include "orrery/scenario/kinds/kernel/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/scenario/answer/answer_text.h"
#include "orrery/scenario/setup/call_account_table.h"

namespace orrery {

// One line a point. Ops with a context have a column for it in place of the rate: 80 columns.
std::string kernel_table(const Answer& a) {
  const bool contexts = a.points[0].at.contains("context");
  const char* rate = a.points[0].find("rate") ? "rate" : "bandwidth";
  std::size_t name = 16, m = 7;
  for (const Point& p : a.points)
    name = std::max(name, p.at["gpu"].get_ref<const std::string&>().size());
  if (name > 16) m -= std::min<std::size_t>(name - 16, 5);
  const std::string what = contexts ? "context" : a.points[0].find("rate") ? "TFLOP/s" : "GB/s";
  std::string out =
      fmt::format("{:<{}} {:>{}} {}{:>9} {:>9} {:<8}{:>5} {} {}\n", "gpu", name, "m", m,
                  contexts ? fmt::format("{:>8} ", what) : "", "time us", "90 %", "bound", "peak",
                  contexts ? "" : fmt::format("{:>8} ", what), "tier");
  Notes sources;
  for (const Point& p : a.points) {
    const Metric& us = *p.find("time");
    const std::string gpu = p.at["gpu"];
    out += fmt::format(
        "{:<{}} {:>{}} {}{:>9} {:>9} {:<8}{:>4.0f}% {} {}\n", gpu, name, text_at(p, "m"), m,
        contexts ? fmt::format("{:>8} ", text_at(p, "context")) : "", number(us.value),
        spread90(us.value, us.low90, us.high90), p.at["bound"].get<std::string>(),
        p.find("efficiency")->value,
        contexts ? "" : fmt::format("{:>8} ", number(p.find(rate)->value)), to_text(us.origin));
    for (const std::string& note : p.notes) sources.add(gpu + ": " + note);
  }
  return out + call_account_table(a, {"gpu", contexts ? "context" : "m"}) + sources.text();
}

}  // namespace orrery
