#include <fmt/format.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {
namespace {

bool less_is_better(const std::string& name) {
  return name.find("throughput") == std::string::npos && name != "mfu" && name != "headroom";
}

}  // namespace

std::string draw_front(const Answer& a) {
  const std::string x = metric_among(a, {"time_to_train", "cost_per_hour", "tpot"});
  const std::string y = metric_among(
      a, x == "time_to_train" ? std::initializer_list<const char*>{"cost", "gpu_hours"}
         : a.complete
             ? std::initializer_list<const char*>{"tpot_p99", "ttft_p99"}
             : std::initializer_list<const char*>{"prefill_throughput", "output_throughput"});
  if (x.empty() || y.empty() || x == y) return "";
  std::vector<const Point*> fit;
  for (const Point& p : a.points)
    if (p.feasibility.fits && p.find(x) && p.find(y)) fit.push_back(&p);
  if (fit.size() < 2) return "";
  const auto at = [&](const Point* p, const std::string& name) { return p->find(name)->value; };
  const auto beats = [&](const Point* p, const Point* q, const std::string& name) {
    const double d = at(p, name) - at(q, name);
    return less_is_better(name) ? d < 0 : d > 0;
  };
  Plot plot("Trade-offs", {fmt::format("{} [{}]", words(x), unit_of(a, x)), false, {}},
            {fmt::format("{} [{}]", words(y), unit_of(a, y)), false, {}});
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
