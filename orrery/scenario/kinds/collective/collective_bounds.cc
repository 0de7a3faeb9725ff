#include "orrery/scenario/kinds/collective/collective_bounds.h"

#include <fmt/format.h>

#include "orrery/scenario/answer/bound_rows.h"

namespace orrery {

void bound_collective(const GroupLink& link, const Gpu& gpu, Point& p) {
  bound_common(p);
  const auto value = [&](const char* name) {
    const Metric* m = p.find(name);
    return m != nullptr ? m->value : 0;
  };
  double least = value("bound");  // us
  std::string why = "the bytes through the narrowest cut of the links";
  if (least == 0 && value("sent_between") > 0) {
    least = value("sent_between") / link.bandwidth.value() * 1e12;
    why = fmt::format("{:.4g} MB between nodes at {:.4g} GB/s a GPU", value("sent_between"),
                      link.bandwidth.value() / 1e9);
  } else if (least == 0 && value("sent_inside") > 0 && gpu.scale_up.bandwidth.value() > 0) {
    least = value("sent_inside") / gpu.scale_up.bandwidth.value() * 1e12;
    why = fmt::format("{:.4g} MB inside the node at {:.4g} GB/s a GPU", value("sent_inside"),
                      gpu.scale_up.bandwidth.value() / 1e9);
  }
  if (least == 0) return;
  bound_below(p, "time", least, why);
  for (const char* rate : {"algbw", "busbw"})
    bound_above(p, rate, value(rate) * value("time") / least, why);
}

}  // namespace orrery
