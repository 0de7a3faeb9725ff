#include "orrery/scenario/kinds/training/training_plant.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// Emissions of an hour, of electricity and what the boards embody. The latter are exact.
Estimate<Grams> with_embodied(const Estimate<Grams>& electricity, double embodied) {
  const double part = electricity.value.value(), all = part + embodied;
  if (all <= 0) return electricity;
  return {.value = Grams(all),
          .shared = electricity.shared * part / all,
          .own = electricity.own * part / all,
          .origin = electricity.origin,
          .tails = electricity.tails};
}

}  // namespace

void add_training_plant(const PlantAccount& account, const ScopedBoards& of,
                        const std::optional<Estimate<Seconds>>& run, Point& point) {
  const Boards& boards = of.boards;
  count_scope(account, of, point.metrics);
  if (!account.counts_carbon()) return;
  const double embodied = account.embodied_hour(boards.run + boards.wait).value();
  const Estimate<Grams> hour = with_embodied(account.operational_hour(boards), embodied);
  if (hour.value.value() <= 0) return;
  point.metrics.push_back(metric("carbon_per_hour", hour));
  if (embodied > 0) point.metrics.push_back(exact_metric("embodied_carbon_per_hour", embodied));
  if (!run || run->value <= Seconds(0)) return;
  const double hours = run->value / kPaidHour;
  const Estimate<Grams> electric =
      account.operational_hour({of.in_run.value_or(boards.running), boards.run, boards.wait});
  const double electricity = electric.value.value();
  const Estimate<Grams> in_run = with_embodied(electric, embodied);
  const double all = in_run.value.value();
  const auto put = [&](FigureRef figure, double of_hour) {
    Metric m = metric(figure, in_run.scaled(hours * of_hour / all));
    widen(m, run->sigma());
    m.origin = std::max(m.origin, run->origin);
    point.metrics.push_back(std::move(m));
  };
  put("carbon", all);
  const CarbonIntensity& series = *account.carbon();
  if (series.hours.empty() || series.mean <= 0) return;
  const CarbonStart best = best_start(series.hours, hours);
  put("deferred_carbon", embodied + electricity * best.mean / series.mean);
  point.notes.push_back(fmt::format(
      "a run that can wait emits least from hour {} of the series on: {:.4g} g for a kWh in place "
      "of {:.4g}",
      best.hour, best.mean, series.mean));
}

}  // namespace orrery
