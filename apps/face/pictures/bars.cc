#include <fmt/format.h>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"
#include "orrery/scenario/answer/answer_text.h"

namespace orrery::face {

std::string draw_bars(const DetailBars& bars) {
  if (bars.parts.empty()) return "";
  PlotAxis y{"", false, {}};
  for (auto part = bars.parts.rbegin(); part != bars.parts.rend(); ++part)
    y.names.push_back(part->first);
  Plot plot(bars.title, {bars.unit, false, {}}, y);
  for (std::size_t i = 0; i < bars.parts.size(); ++i) {
    const auto& [name, value] = bars.parts[bars.parts.size() - 1 - i];
    plot.box(0, 0, value, static_cast<double>(i), 0.3,
             fmt::format("{}: {} {}", name, number(value), bars.unit));
  }
  return plot.svg();
}

}  // namespace orrery::face
