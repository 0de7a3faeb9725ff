#include <fmt/format.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {

std::string draw_memory(const Answer& a) {
  constexpr std::size_t kMost = 14;
  std::vector<const Point*> points;
  for (const Point& p : a.points)
    if (!p.memory.empty() && points.size() < kMost) points.push_back(&p);
  if (points.empty()) return "";
  std::reverse(points.begin(), points.end());  // the first on top
  const std::vector<std::string> keys = telling(a, varied(a), "");
  PlotAxis y{"", false, {}};
  for (const Point* p : points) {
    const std::string label = label_of(*p, keys);
    y.names.push_back(label.empty() ? "a " + points.front()->memory_of : label);
  }
  Plot plot("Memory of a " + points.front()->memory_of, {"GB", false, {}}, y);
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double row = static_cast<double>(i);
    double from = 0;
    for (const MemoryRow& m : points[i]->memory) {
      const double size = m.size.value() / 1e9;
      if (size <= 0) continue;
      plot.box(place_in(classes, words(m.name)), from, from + size, row, 0.34,
               fmt::format("{}: {} GB", words(m.name), short_number(size)));
      from += size;
    }
    const double capacity = points[i]->memory_capacity.value() / 1e9;
    if (capacity > 0)
      plot.mark(capacity, row, 0.46, fmt::format("capacity: {} GB", short_number(capacity)));
  }
  for (std::size_t i = 0; i < classes.size(); ++i) plot.key(static_cast<int>(i), classes[i]);
  return plot.svg();
}

}  // namespace orrery::face
