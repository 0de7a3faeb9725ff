#include "apps/cli/output/load_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/output/log_axis.h"
#include "apps/cli/output/output.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

constexpr double kPlotWidth = 880, kPlotHeight = 320;
constexpr double kPlotTop = 60, kPlotBottom = 46, kPanelLeft = 56, kPanelRight = 16;

struct LoadedPoint {
  double rate = 0;  // requests a second
  const Point* point = nullptr;
};

std::vector<LoadedPoint> loaded_points(const Answer& answer) {
  std::vector<LoadedPoint> points;
  for (const Point& p : answer.points) {
    if (!p.at.contains("rate") || p.find("ttft") == nullptr) continue;
    const auto& rate = p.at.at("rate");
    const double value =
        rate.is_string() ? std::atof(rate.get<std::string>().c_str()) : rate.get<double>();
    if (value > 0 && std::isfinite(value)) points.push_back({value, &p});
  }
  if (points.size() < 2) throw InputError("--plot: expected several rates, such as --rate 4-36+4");
  std::sort(points.begin(), points.end(),
            [](const LoadedPoint& a, const LoadedPoint& b) { return a.rate < b.rate; });
  return points;
}

// The least of 1, 2 and 5 times a power of ten that cuts `range` into at most six.
double nice_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 6)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (range / (times * power) <= 6) return times * power;
  }
  return 10 * power;
}

std::string panel(const std::vector<LoadedPoint>& points, const std::string& metric,
                  const std::string& title, double left, double right, const char* colour) {
  const std::string p99 = metric + "_p99";
  double least = 1e300, most = 0;
  for (const LoadedPoint& p : points) {
    least = std::min(least, p.point->find(metric)->low90);
    most = std::max({most, p.point->find(metric)->high90, p.point->find(p99)->value});
  }
  const LogAxis y = log_axis(least, most, kPlotHeight - kPlotBottom, kPlotTop);
  const double from = 0, to = points.back().rate;
  const auto x = [&](double rate) { return left + (rate - from) / (to - from) * (right - left); };
  std::string svg = fmt::format("<text class='title' x='{:.1f}' y='46'>{}</text>\n", left, title);
  for (int d = y.low; d <= y.high; ++d) {
    const double at = y.at(std::pow(10, d));
    svg += fmt::format(
        "<line class='grid' x1='{1:.1f}' y1='{0:.1f}' x2='{2:.1f}' y2='{0:.1f}'/><text x='{3:.1f}' "
        "y='{4:.1f}' text-anchor='end'>{5:g}</text>\n",
        at, left, right, left - 6, at + 4, std::pow(10, d));
  }
  const double step = nice_step(to - from);
  for (double rate = from; rate <= to * 1.0001; rate += step) {
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:g}</text>\n", x(rate),
                       kPlotHeight - kPlotBottom + 18, rate);
  }
  svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>requests a second</text>\n",
                     (left + right) / 2, kPlotHeight - 10);
  std::string upper, lower, mean, tail;
  for (const LoadedPoint& p : points) {
    const Metric& m = *p.point->find(metric);
    const double at = x(p.rate);
    upper += fmt::format("{:.1f},{:.1f} ", at, y.at(m.high90));
    lower = fmt::format("{:.1f},{:.1f} ", at, y.at(m.low90)) + lower;
    mean += fmt::format("{:.1f},{:.1f} ", at, y.at(m.value));
    tail += fmt::format("{:.1f},{:.1f} ", at, y.at(p.point->find(p99)->value));
  }
  return svg +
         fmt::format(
             "<polygon fill='{0}' fill-opacity='0.18' points='{1}{2}'/>\n<polyline "
             "fill='none' stroke='{0}' stroke-width='2' points='{3}'/>\n<polyline fill='none' "
             "stroke='{0}' stroke-width='1.5' stroke-dasharray='5 4' points='{4}'/>\n",
             colour, upper, lower, mean, tail);
}

}  // namespace

std::string load_plot(const Answer& answer) {
  const std::vector<LoadedPoint> points = loaded_points(answer);
  const auto& at = points[0].point->at;
  const std::string what =
      fmt::format("{} on {} {}", at.value("model", ""),
                  at.contains("gpus") ? at.at("gpus").dump() : "", at.value("gpu", ""));
  const double half = kPlotWidth / 2;
  return fmt::format(
             "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' "
             "height='{1}' role='img' aria-label='latency over load: {2}'>\n<style>text{{font:12px "
             "sans-serif;fill:#333}}.title{{font-size:13px;font-weight:600}}.grid{{stroke:#ddd}}"
             "</style>\n<rect width='100%' height='100%' fill='white'/>\n<text class='title' "
             "x='{3}' "
             "y='20'>{2}</text>\n",
             kPlotWidth, kPlotHeight, escaped_html(what), kPanelLeft) +
         panel(points, "ttft", "TTFT, ms: mean with 90 % interval, P99 dashed", kPanelLeft,
               half - kPanelRight, kPlotColours[0]) +
         panel(points, "tpot", "TPOT, ms: mean with 90 % interval, P99 dashed", half + kPanelLeft,
               kPlotWidth - kPanelRight, kPlotColours[1]) +
         "</svg>\n";
}

}  // namespace orrery::cli
