#include "orrery/scenario/fleet/fleet_price.h"

namespace orrery {

FleetPrice fleet_price(const std::vector<Estimate<Usd>>& hours,
                       const std::vector<std::int64_t>& engines) {
  FleetPrice out;
  double all = 0, error = 0;
  for (std::size_t pool = 0; pool < hours.size(); ++pool) {
    const Estimate<Usd>& hour = hours[pool];
    const double cost = hour.value.value() * real(engines[pool]);
    out.engine_hour.push_back(hour.value);
    all += cost, error += cost * hour.sigma();
  }
  if (all > 0) out.error = error / all;
  return out;
}

void add_cost_metrics(const FleetPrice& price, const SimulationResult& r, const FleetEnergy* energy,
                      const Served& served, std::vector<Metric>& metrics) {
  const Seconds end = r.end.time();
  if (!price.asked() || end <= Seconds(0)) return;
  Usd hour;
  for (std::size_t pool = 0; pool < r.engine_times.size(); ++pool)
    hour = hour + price.engine_hour[pool] * (r.engine_times[pool] / end);
  for (std::size_t pool = 0; energy != nullptr && pool < price.electricity.size(); ++pool) {
    const auto& paid = price.electricity[pool];
    if (!paid) continue;
    const Boards boards = energy->pools[pool].boards_over(end);
    hour = hour + paid->account.with_electricity(paid->price, boards).value;
  }
  const Usd cost = hour * (end / kPaidHour);
  const double counted = hour.value() * (served.time / kPaidHour);
  const auto put = [&](FigureRef figure, double v) { metrics.push_back(exact_metric(figure, v)); };
  const auto put_share = [&](FigureRef figure, double over) {
    if (over > 0) put(figure, counted / over);
  };
  constexpr double kMillion = 1e6;
  put("cost_per_hour", hour.value());
  put_share("cost_per_million_input_tokens", served.input / kMillion);
  put_share("cost_per_million_output_tokens", served.output / kMillion);
  put_share("cost_per_million_tokens", (served.input + served.output) / kMillion);
  put_share("cost_per_request", served.requests);
  put("cost", cost.value());
}

}  // namespace orrery
