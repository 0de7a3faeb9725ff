#include <fmt/format.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {
std::string draw_kernels(const Answer& a) {
  constexpr std::size_t kMost = 14;
  if (a.points.empty() || a.points.front().kernels.empty()) return "";
  std::vector<const KernelRow*> rows;
  const std::string phase = a.points.front().kernels.back().phase;
  for (const KernelRow& k : a.points.front().kernels)
    if (k.phase == phase) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](const KernelRow* p, const KernelRow* q) {
    return p->time.value > q->time.value;
  });
  if (rows.size() > kMost) rows.resize(kMost);
  std::reverse(rows.begin(), rows.end());
  PlotAxis y{"", false, {}};
  for (const KernelRow* k : rows) y.names.push_back(k->shown().substr(0, 32));
  Plot plot(fmt::format("Kernels of a step ({})", phase), {"us", false, {}}, y);
  std::vector<std::string> bounds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelRow& k = *rows[i];
    const int series = place_in(bounds, k.bound);
    const double row = static_cast<double>(i);
    plot.box(series, 0, k.time.value.value() * 1e6, row, 0.34,
             fmt::format("{}: {} us, {:.1f} % of the step", k.shown(),
                         short_number(k.time.value.value() * 1e6), 100 * k.share));
    plot.line(kPlotInk, {{k.time.quantile(0.05).value() * 1e6, row},
                         {k.time.quantile(0.95).value() * 1e6, row}});
  }
  for (std::size_t i = 0; i < bounds.size(); ++i)
    plot.key(static_cast<int>(i), bounds[i] + " bound");
  return plot.svg();
}

std::string draw_breakdown(const Answer& a) {
  constexpr std::size_t kMost = 14;
  struct Row {
    const Point* point;
    std::string phase;
  };
  std::vector<Row> rows;
  for (const Point& p : a.points) {
    std::vector<std::string> phases;
    for (const KernelRow& k : p.kernels) place_in(phases, k.phase);
    for (const std::string& phase : phases)
      if (rows.size() < kMost) rows.push_back({&p, phase});
  }
  if (rows.empty()) return "";
  std::reverse(rows.begin(), rows.end());  // the first on top
  const std::vector<std::string> keys = telling(a, varied(a), "");
  PlotAxis y{"", false, {}};
  for (const Row& r : rows) {
    const std::string label = label_of(*r.point, keys);
    y.names.push_back(label.empty() ? r.phase : label + ": " + r.phase);
  }
  Plot plot("Where the time of a step goes", {"ms", false, {}}, y);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double from = 0;
    std::vector<std::string> own;
    for (const KernelRow& k : rows[i].point->kernels)
      if (k.phase == rows[i].phase) place_in(own, k.part);
    for (const std::string& part : own) {
      double ms = 0;
      for (const KernelRow& k : rows[i].point->kernels)
        if (k.phase == rows[i].phase && k.part == part) ms += k.time.value.value() * 1e3;
      plot.box(place_in(parts, part), from, from + ms, static_cast<double>(i), 0.34,
               fmt::format("{}: {} ms", words(part), short_number(ms)));
      from += ms;
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) plot.key(static_cast<int>(i), words(parts[i]));
  return plot.svg();
}

}  // namespace orrery::face
