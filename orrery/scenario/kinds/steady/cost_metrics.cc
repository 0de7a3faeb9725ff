#include "orrery/scenario/kinds/steady/cost_metrics.h"

namespace orrery {

void add_cost_metrics(const Estimate<Usd>& hour, std::int64_t osl, const ClosedFormResult& r,
                      Point& p) {
  p.metrics.push_back(metric("cost_per_hour", hour));
  const Estimate<Usd> all = cost_of(hour, r.makespan);
  const auto put = [&](FigureRef figure, double over) {
    if (over > 0) p.metrics.push_back(metric(figure, all, over));
  };
  constexpr double kMillion = 1e6;
  put("cost_per_million_input_tokens", r.input_tokens / kMillion);
  put("cost_per_million_output_tokens", r.output_tokens / kMillion);
  put("cost_per_million_tokens", (r.input_tokens + r.output_tokens) / kMillion);
  put("cost_per_request", r.output_tokens / real(osl));
}

}  // namespace orrery
