#include <fmt/format.h>

#include <algorithm>

#include "apps/face/pictures/drawing.h"
#include "apps/face/plot.h"

namespace orrery::face {
std::string draw_load(const Answer& a) {
  const std::vector<std::string> keys = varied(a);
  std::vector<const Point*> rated;
  for (const Point& p : a.points)
    if (p.at.contains("rate") && p.at["rate"].is_number() && p.find("ttft_p99"))
      rated.push_back(&p);
  if (rated.size() < 2 || keys != std::vector<std::string>{"rate"}) return "";
  std::sort(rated.begin(), rated.end(), [](const Point* x, const Point* y) {
    return x->at["rate"].get<double>() < y->at["rate"].get<double>();
  });
  Plot plot("Latency under load", {"requests per second", false, {}}, {"ms", true, {}});
  int series = 0;
  for (const char* name : {"ttft_p99", "ttft_p50", "tpot_p99", "tpot_p50"}) {
    Plot::Points line;
    std::vector<Plot::Band> band;
    for (const Point* p : rated) {
      const Metric* m = p->find(name);
      if (m == nullptr || m->low90 <= 0) continue;
      const double rate = p->at["rate"].get<double>();
      line.emplace_back(rate, m->value);
      band.push_back({rate, m->low90, m->high90});
      plot.dot(series, rate, m->value, 3.5, fmt::format("{} at {}/s", value_text(*m), rate));
    }
    plot.band(series, band);
    plot.line(series, line, words(name), std::string(name).ends_with("p50"));
    ++series;
  }
  return plot.svg();
}

}  // namespace orrery::face
