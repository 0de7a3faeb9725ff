#include "apps/face/pictures/compared.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {

std::string draw_compared(const std::vector<ComparedFigure>& figures) {
  if (figures.empty()) return "";
  PlotAxis y{"", false, {}};
  for (auto f = figures.rbegin(); f != figures.rend(); ++f) y.names.push_back(words(f->name));
  Plot plot("Predicted, in percent of what was measured", {"%", false, {}}, y);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const ComparedFigure& f = figures[figures.size() - 1 - i];
    const double row = static_cast<double>(i);
    const auto share = [&f](double v) { return 100 * v / f.measured; };
    constexpr int kInside = 0, kOutside = 1;  // series
    const std::string text = fmt::format(
        "{}: measured {}, predicted {} ({} to {}) {}", words(f.name), short_number(f.measured),
        short_number(f.predicted.value), short_number(f.predicted.low90),
        short_number(f.predicted.high90), f.predicted.unit);
    plot.box(f.within() ? kInside : kOutside, share(f.predicted.low90), share(f.predicted.high90),
             row, 0.26, text);
    plot.mark(share(f.predicted.value), row, 0.26, text);
    plot.mark(100, row, 0.5, "measured");
  }
  const auto inside = [](const ComparedFigure& f) { return f.within(); };
  if (std::any_of(figures.begin(), figures.end(), inside))
    plot.key(0, "90 % interval with the measurement");
  if (!std::all_of(figures.begin(), figures.end(), inside)) plot.key(1, "90 % interval without it");
  return plot.svg();
}

}  // namespace orrery::face
