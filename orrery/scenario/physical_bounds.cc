#include "orrery/scenario/physical_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/scenario/bound_rows.h"

namespace orrery {

void bound_counted(Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  if (m == nullptr) return;
  p.bounds.push_back({std::string(metric), (1 - kCounted) * m->value, (1 + kCounted) * m->value,
                      "counted from the dimensions and formats"});
}

void bound_common(Point& p) {
  constexpr std::array<std::string_view, 2> kComparing = {"tpot_overhead",
                                                          "neighbour_tpot_overhead"};
  for (const Metric& m : p.metrics) {
    if (std::find(kComparing.begin(), kComparing.end(), m.name) != kComparing.end()) {
      p.bounds.push_back({m.name, -100, kUnbounded, "no time is negative"});
    } else if (m.unit.starts_with("%")) {
      p.bounds.push_back({m.name, 0, 100, "a share"});
    } else {
      p.bounds.push_back({m.name, 0, kUnbounded, "not negative"});
    }
  }
}

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
