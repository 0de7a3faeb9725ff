#include "apps/cli/output/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/output/log_axis.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/plot_page.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

struct RooflinePoint {
  std::string label;
  double intensity = 0;  // FLOPs per byte, > 0
  double rate = 0;       // FLOP/s, > 0
};

struct Roofline {
  std::string gpu, format;
  double peak = 0, bandwidth = 0;  // FLOP/s, bytes/s
  std::vector<RooflinePoint> points;
};

// One for each GPU and format. Kernels without FLOPs are left out.
std::vector<Roofline> rooflines_of(const Answer& answer) {
  std::vector<Roofline> all;
  for (const Point& p : answer.points) {
    const Metric *rate = p.find("rate"), *bandwidth = p.find("bandwidth");
    if (!rate || !bandwidth) continue;
    const std::string gpu = p.at["gpu"], format = p.at["arithmetic"];
    auto it = std::find_if(all.begin(), all.end(),
                           [&](const Roofline& r) { return r.gpu == gpu && r.format == format; });
    if (it == all.end()) {
      all.push_back({gpu,
                     format,
                     p.find("peak_rate")->value * 1e12,
                     p.find("peak_bandwidth")->value * 1e9,
                     {}});
      it = all.end() - 1;
    }
    it->points.push_back({p.at["sizes"], rate->value * 1e3 / bandwidth->value, rate->value * 1e12});
  }
  if (all.empty()) throw InputError("--roofline: a kernel without FLOPs has no place on it");
  return all;
}

constexpr double kWidth = 900, kHeight = 520, kLeft = 80, kRight = 20, kTop = 20, kBottom = 50;

std::string grid(const LogAxis& x, const LogAxis& y) {
  std::string svg;
  for (int d = x.low; d <= x.high; ++d) {
    const double at = x.at(std::pow(10, d));
    svg += fmt::format("<line class=grid x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}'/>", at, kTop,
                       kHeight - kBottom);
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor=middle>{:g}</text>", at,
                       kHeight - kBottom + 18, std::pow(10, d));
  }
  for (int d = y.low; d <= y.high; ++d) {
    const double at = y.at(std::pow(10, d));
    svg += fmt::format("<line class=grid x1='{1}' y1='{0:.1f}' x2='{2}' y2='{0:.1f}'/>", at, kLeft,
                       kWidth - kRight);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor=end>{:g}</text>", kLeft - 8, at + 4,
                       std::pow(10, d - 12));
  }
  svg += fmt::format("<text x='{}' y='{}' text-anchor=middle>FLOPs per byte</text>",
                     (kLeft + kWidth) / 2, kHeight - 8);
  svg += fmt::format(
      "<text transform='translate(18 {}) rotate(-90)' text-anchor=middle>TFLOP/s</text>",
      kHeight / 2);
  return svg;
}

}  // namespace

std::string roofline_page(const Answer& answer) {
  const std::vector<Roofline> rooflines = rooflines_of(answer);
  const std::string title = "Roofline: " + answer.points[0].at["op"].get<std::string>();
  double least_x = 1, most_x = 1, least_y = 1e15, most_y = 0;
  for (const Roofline& r : rooflines) {
    const double ridge = r.peak / r.bandwidth;
    most_x = std::max(most_x, 4 * ridge);
    most_y = std::max(most_y, r.peak);
    least_y = std::min(least_y, r.bandwidth);
    for (const RooflinePoint& p : r.points) {
      least_x = std::min(least_x, p.intensity), most_x = std::max(most_x, p.intensity);
      least_y = std::min(least_y, p.rate), most_y = std::max(most_y, p.rate);
    }
  }
  const LogAxis x = log_axis(least_x, most_x, kLeft, kWidth - kRight);
  const LogAxis y = log_axis(least_y, most_y, kHeight - kBottom, kTop);
  std::string svg = grid(x, y), legend, rows;
  for (std::size_t i = 0; i < rooflines.size(); ++i) {
    const Roofline& r = rooflines[i];
    const char* colour = kPlotColours[i % kPlotColours.size()];
    const double peak = r.peak, bandwidth = r.bandwidth;
    const double left = std::max(std::pow(10, x.low), std::pow(10, y.low) / bandwidth);
    svg += fmt::format(
        "<polyline fill=none stroke='{}' stroke-width=2 points='{:.1f},{:.1f} "
        "{:.1f},{:.1f} {:.1f},{:.1f}'/>",
        colour, x.at(left), y.at(left * bandwidth), x.at(peak / bandwidth), y.at(peak), x.to,
        y.at(peak));
    legend += fmt::format("<li style='color:{}'>{}: {} {} TFLOP/s, {} GB/s</li>", colour,
                          escaped_html(r.gpu), escaped_html(r.format), number(peak / 1e12),
                          number(bandwidth / 1e9));
    for (const RooflinePoint& p : r.points) {
      const std::string text = fmt::format("{} on {}: {} TFLOP/s at {} FLOPs per byte", p.label,
                                           r.gpu, number(p.rate / 1e12), number(p.intensity));
      svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r=4 fill='{}'><title>{}</title></circle>",
                         x.at(p.intensity), y.at(p.rate), colour, escaped_html(text));
      rows += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0f} %</td></tr>\n",
          escaped_html(r.gpu), escaped_html(p.label), number(p.intensity), number(p.rate / 1e12),
          100 * p.rate / std::min(peak, bandwidth * p.intensity));
    }
  }
  return html(PlotPage{title, "roofline", kWidth, kHeight, svg, legend,
                       "<th>GPU<th>kernel<th>FLOPs per byte<th>TFLOP/s<th>of the roofline", rows});
}

}  // namespace orrery::cli
