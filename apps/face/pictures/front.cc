#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"
#include "orrery/scenario/answer/figures.h"

namespace orrery::face {
namespace {

constexpr double kWide = 15;  // from this ratio of the extremes on an axis is logarithmic

// The percentile of a latency against which the question's limit is held, or would be: "tpot_p95".
std::string held_latency(const Answer& a, const std::string& name) {
  double percentile = 99;
  if (const auto slo = a.resolved.find("slo"); slo != a.resolved.end() && slo->is_object()) {
    for (const std::string& key : {std::string("percentile"), name + "_percentile"})
      if (const auto at = slo->find(key); at != slo->end() && at->is_number())
        percentile = at->get<double>();
  }
  return percentile_name(name, percentile);
}

// The latency whose limit the points of a front differ in (`plan.front`).
std::string front_latency(const Answer& a) {
  for (const char* name : {"ttft", "tpot", "e2e"})
    for (const Point& p : a.points)
      if (p.at.contains(fmt::format("slo_{}", name))) return held_latency(a, name);
  return "";
}

bool differs(const Answer& a, const std::string& metric) {
  const Metric* first = a.points.front().find(metric);
  return std::any_of(a.points.begin(), a.points.end(), [&](const Point& p) {
    const Metric* m = p.find(metric);
    return first != nullptr && m != nullptr && m->value != first->value;
  });
}

// The two metrics of an answer that are weighed against each other; "": there is none.
std::pair<std::string, std::string> axes_of(const Answer& a) {
  if (const std::string latency = front_latency(a); !latency.empty())
    return {differs(a, "cost_per_hour") ? "cost_per_hour" : "output_throughput", latency};
  const std::string x = metric_among(a, {"time_to_train", "cost_per_hour", "tpot"});
  if (x == "time_to_train") return {x, metric_among(a, {"cost", "gpu_hours"})};
  if (a.complete) {
    const std::string tpot = held_latency(a, "tpot"), ttft = held_latency(a, "ttft");
    return {x, metric_among(a, {tpot.c_str(), ttft.c_str(), "tpot_p99", "ttft_p99"})};
  }
  return {x, metric_among(a, {"prefill_throughput", "output_throughput"})};
}

}  // namespace

std::string draw_front(const Answer& a) {
  const auto [x, y] = axes_of(a);
  if (x.empty() || y.empty() || x == y) return "";
  std::vector<const Point*> fit;
  for (const Point& p : a.points)
    if (p.feasibility.fits && p.find(x) && p.find(y)) fit.push_back(&p);
  if (fit.size() < 2) return "";
  const auto at = [&](const Point* p, const std::string& name) { return p->find(name)->value; };
  const auto beats = [&](const Point* p, const Point* q, const std::string& name) {
    const double d = at(p, name) - at(q, name);
    return p->find(name)->better == Better::kMore ? d > 0 : d < 0;
  };
  const auto axis = [&](const std::string& name) {
    const auto [least, most] = std::minmax_element(
        fit.begin(), fit.end(),
        [&](const Point* p, const Point* q) { return at(p, name) < at(q, name); });
    const bool wide = at(*least, name) > 0 && at(*most, name) > kWide * at(*least, name);
    return PlotAxis{fmt::format("{} [{}]", words(name), unit_of(a, name)), wide, {}};
  };
  Plot plot("Trade-offs", axis(x), axis(y));
  Plot::Points front;
  const std::vector<std::string> keys = varied(a);
  for (const Point* p : fit) {
    const bool beaten = std::any_of(fit.begin(), fit.end(), [&](const Point* q) {
      return (beats(q, p, x) && !beats(p, q, y)) || (beats(q, p, y) && !beats(p, q, x));
    });
    if (!beaten) front.emplace_back(at(p, x), at(p, y));
    std::string why = fmt::format("{}: {}, {}", label_of(*p, keys), value_text(*p->find(x)),
                                  value_text(*p->find(y)));
    for (std::size_t i = 0; i < p->notes.size() && i < 2; ++i) why += "; " + p->notes[i];
    plot.dot(beaten ? 0 : 1, at(p, x), at(p, y), 6, why);
  }
  std::sort(front.begin(), front.end());
  plot.line(1, front, "beaten by none", true);
  if (front.size() < fit.size()) plot.key(0, "beaten by another");
  return plot.svg();
}

}  // namespace orrery::face
