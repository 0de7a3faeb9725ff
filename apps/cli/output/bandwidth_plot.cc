#include "apps/cli/output/bandwidth_plot.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "apps/cli/output/log_axis.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/plot_page.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

constexpr double kWidth = 900, kHeight = 480, kLeft = 80, kRight = 20, kTop = 20, kBottom = 50;

double size_of(const Point& p) {
  return p.at.at(p.at.contains("bytes") ? "bytes" : "tokens").get<double>();
}

std::string grid(const LogAxis& x, const LogAxis& y, const std::string& size) {
  std::string svg;
  for (int d = x.low; d <= x.high; ++d) {
    const double at = x.at(std::pow(10, d));
    svg += fmt::format(
        "<line class=grid x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}'/><text x='{0:.1f}' y='{3}' "
        "text-anchor=middle>1e{4}</text>",
        at, kTop, kHeight - kBottom, kHeight - kBottom + 18, d);
  }
  for (int d = y.low; d <= y.high; ++d) {
    const double at = y.at(std::pow(10, d));
    svg += fmt::format(
        "<line class=grid x1='{1}' y1='{0:.1f}' x2='{2}' y2='{0:.1f}'/><text x='{3}' y='{4:.1f}' "
        "text-anchor=end>{5:g}</text>",
        at, kLeft, kWidth - kRight, kLeft - 8, at + 4, std::pow(10, d));
  }
  return svg + fmt::format(
                   "<text x='{}' y='{}' text-anchor=middle>{}</text><text transform='translate(18 "
                   "{}) rotate(-90)' text-anchor=middle>bus bandwidth, GB/s</text>",
                   (kLeft + kWidth) / 2, kHeight - 8, size, kHeight / 2);
}

}  // namespace

std::string bandwidth_page(const Answer& answer) {
  std::map<std::int64_t, std::vector<const Point*>> series;  // by GPUs
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  for (const Point& p : answer.points) {
    if (p.find("busbw") == nullptr) continue;  // replays of traces, groups that do not fit
    series[p.at.at("gpus").get<std::int64_t>()].push_back(&p);
    const Metric& bus = *p.find("busbw");
    least_x = std::min(least_x, size_of(p)), most_x = std::max(most_x, size_of(p));
    least_y = std::min(least_y, bus.low90), most_y = std::max(most_y, bus.high90);
  }
  if (series.empty()) throw InputError("--plot: the answer has no bus bandwidth");
  const Point& first = *series.begin()->second[0];
  const LogAxis x = log_axis(least_x, most_x, kLeft, kWidth - kRight);
  const LogAxis y = log_axis(least_y, most_y, kHeight - kBottom, kTop);
  const bool bytes = first.at.contains("bytes");
  std::string svg = grid(x, y, bytes ? "bytes" : "tokens of a rank"), legend, rows;
  std::size_t i = 0;
  for (const auto& [gpus, points] : series) {
    const char* colour = kPlotColours[i++ % kPlotColours.size()];
    std::string line, upper, lower;
    for (const Point* p : points) {
      const Metric& bus = *p->find("busbw");
      const double at = x.at(size_of(*p));
      line += fmt::format("{:.1f},{:.1f} ", at, y.at(bus.value));
      upper += fmt::format("{:.1f},{:.1f} ", at, y.at(bus.high90));
      lower = fmt::format("{:.1f},{:.1f} ", at, y.at(bus.low90)) + lower;
      rows += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", gpus,
          number(size_of(*p)), number(p->find("time")->value), number(bus.value),
          escaped_html(p->at.value("algorithm", "")), escaped_html(p->at.value("protocol", "")));
    }
    svg += fmt::format(
        "<polygon fill='{0}' fill-opacity=0.15 points='{1}{2}'/><polyline fill=none stroke='{0}' "
        "stroke-width=2 points='{3}'/>",
        colour, upper, lower, line);
    legend += fmt::format("<li style='color:{}'>{} GPUs</li>", colour, gpus);
  }
  std::string title = first.at.at("collective").get<std::string>();
  const std::string node = first.at.value("node", "");  // not of a topology
  if (!node.empty()) title += " on " + node;
  return html(
      PlotPage{title, "bus bandwidth", kWidth, kHeight, svg, legend,
               fmt::format("<th>GPUs<th>{}<th>time us<th>busbw GB/s<th>algorithm<th>protocol",
                           bytes ? "bytes" : "tokens"),
               rows});
}

}  // namespace orrery::cli
