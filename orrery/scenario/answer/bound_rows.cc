#include "orrery/scenario/answer/bound_rows.h"

namespace orrery {

void bound_counted(Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  if (m == nullptr) return;
  p.bounds.push_back({std::string(metric), (1 - kCounted) * m->value, (1 + kCounted) * m->value,
                      "counted from the dimensions and formats"});
}

void bound_common(Point& p) {
  for (const Metric& m : p.metrics) {
    if (m.subject == Subject::kOverhead) {
      p.bounds.push_back({m.name, -100, kUnbounded, "no time is negative"});
    } else if (m.unit.starts_with("%")) {
      p.bounds.push_back({m.name, 0, 100, "a share"});
    } else {
      p.bounds.push_back({m.name, 0, kUnbounded, "not negative"});
    }
  }
}

}  // namespace orrery
