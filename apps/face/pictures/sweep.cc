#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {
namespace {

// Whether the values are positive and far apart.
bool wants_log(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least > 0 && *most / *least > 30;
}

}  // namespace

std::string draw_sweep(const Answer& a) {
  const std::string name = metric_among(
      a, {"ttft_p99", "ttft", "latency", "iteration_time", "busbw", "rate", "time", "memory"});
  std::vector<std::string> keys = varied(a);
  // A single size of a collective is a point of its curve.
  if (keys.empty() && name == "busbw")
    keys = {a.points.front().at.contains("bytes") ? "bytes" : "tokens"};
  if (name.empty() || keys.empty()) return "";
  const auto numeric = [&](const std::string& key) {
    return std::all_of(a.points.begin(), a.points.end(), [&](const Point& p) {
      return p.at.contains(key) && p.at.at(key).is_number();
    });
  };
  const auto lengths = [&](const std::string& key) {
    std::set<std::string> values;
    for (const Point& p : a.points)
      if (p.at.contains(key)) values.insert(text_of(p.at.at(key)));
    return values.size();
  };
  const std::string over =
      *std::max_element(keys.begin(), keys.end(), [&](const std::string& p, const std::string& q) {
        return std::pair(numeric(p), lengths(p)) < std::pair(numeric(q), lengths(q));
      });
  keys = telling(a, keys, over);
  std::vector<double> xs, ys;
  std::vector<std::string> places;
  std::map<std::string, std::vector<std::pair<double, const Metric*>>> lines;
  std::vector<std::string> order;
  for (const Point& p : a.points) {
    const Metric* m = p.find(name);
    if (m == nullptr || !p.at.contains(over)) continue;
    double x = 0;
    if (numeric(over)) {
      x = p.at.at(over).get<double>();
    } else {
      const std::string place = text_of(p.at.at(over));
      auto found = std::find(places.begin(), places.end(), place);
      if (found == places.end()) found = places.insert(places.end(), place);
      x = static_cast<double>(found - places.begin());
    }
    const std::string label = label_of(p, keys);
    if (!lines.contains(label)) order.push_back(label);
    lines[label].emplace_back(x, m);
    xs.push_back(x);
    ys.push_back(m->has_interval() ? m->low90 : m->value);
  }
  if (xs.empty()) return "";
  const bool line = numeric(over);
  Plot plot(fmt::format("{} over {}", words(name), words(over)),
            {words(over), line && wants_log(xs), places},
            {fmt::format("{} [{}]", words(name), unit_of(a, name)), line && wants_log(ys), {}});
  int series = 0;
  for (const std::string& label : order) {
    auto& points = lines[label];
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& p, const auto& q) { return p.first < q.first; });
    Plot::Points drawn;
    std::vector<Plot::Band> band;
    for (const auto& [x, m] : points) {
      const std::string text = label + (label.empty() ? "" : ": ") + value_text(*m);
      const double width = 0.8 / static_cast<double>(order.size());
      if (line) {
        plot.dot(series, x, m->value, 3.5, text);
      } else {
        plot.bar(series, x - 0.4 + width * (series + 0.5), m->value, width / 2.2, text);
      }
      drawn.emplace_back(x, m->value);
      band.push_back(
          {x, m->has_interval() ? m->low90 : m->value, m->has_interval() ? m->high90 : m->value});
    }
    if (line) plot.band(series, band), plot.line(series, drawn);
    if (!label.empty()) plot.key(series, label);
    ++series;
  }
  return plot.svg();
}

}  // namespace orrery::face
