#include "orrery/scenario/kinds/steady/plant_metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace orrery {
namespace {

// The emissions of `time` at those of an hour. The errors of both are independent.
Estimate<Grams> over_time(const Estimate<Grams>& hour, const Estimate<Seconds>& time) {
  return {.value = hour.value * (time.value / kPaidHour),
          .shared = std::hypot(hour.shared, time.shared),
          .own = std::hypot(hour.own, time.own),
          .origin = std::max(hour.origin, time.origin),
          .tails = time.tails};
}

// The emissions of a request if the run starts at the best hour of the series. `run`: at the mean.
// `embodied`: a part of an hour of the run, which no start changes.
void add_best_start(const PlantAccount& account, const Estimate<Grams>& run, double embodied,
                    std::int64_t osl, const ClosedFormResult& r, Point& p) {
  const CarbonIntensity& series = *account.carbon();
  const double hours = r.makespan.value / kPaidHour;
  if (hours <= 0 || series.mean <= 0 || r.output_tokens <= 0) return;
  const CarbonStart best = best_start(series.hours, hours);
  const double kept = embodied * hours;
  const double deferred = kept + (run.value.value() - kept) * best.mean / series.mean;
  Estimate<Grams> least = run;
  least.value = Grams(deferred);
  p.metrics.push_back(metric("deferred_carbon_per_request", least, r.output_tokens / real(osl)));
  p.notes.push_back(fmt::format(
      "a run of {:.3g} h that can wait emits least from hour {} of the series on: {:.4g} g for a "
      "kWh in place of {:.4g}",
      hours, best.hour, best.mean, series.mean));
}

}  // namespace

void add_plant_metrics(const PlantAccount& account, const ScopedBoards& of, std::int64_t osl,
                       const ClosedFormResult& r, Point& p) {
  const Boards& boards = of.boards;
  count_scope(account, of, p.metrics);
  if (!account.counts_carbon()) return;
  const double embodied = account.embodied_hour(boards.run + boards.wait).value();
  Estimate<Grams> hour = account.operational_hour(boards);
  const double all = hour.value.value() + embodied;
  if (all > 0) {
    const double share = hour.value.value() / all;
    hour.value = Grams(all), hour.shared *= share, hour.own *= share;
  }
  const Estimate<Grams> run = over_time(hour, r.makespan);
  constexpr double kMillion = 1e6;
  p.metrics.push_back(metric("carbon_per_hour", hour));
  const auto put = [&](FigureRef figure, double over) {
    if (over > 0) p.metrics.push_back(metric(figure, run, over));
  };
  put("carbon_per_million_output_tokens", r.output_tokens / kMillion);
  put("carbon_per_request", r.output_tokens / real(osl));
  if (!account.carbon()->hours.empty()) add_best_start(account, run, embodied, osl, r, p);
  if (embodied > 0) p.metrics.push_back(exact_metric("embodied_carbon_per_hour", embodied));
}

}  // namespace orrery
