#include "orrery/planner/verify/slo_limits.h"

#include "orrery/base/index.h"
#include "orrery/scenario/answer/figures.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

std::string name_of(SloLimit limit) {
  constexpr const char* kNames[] = {"ttft", "tpot", "e2e"};
  return kNames[index(limit)];
}

Seconds allowed(const ServiceLevels& slo, SloLimit limit) {
  const Seconds all[] = {slo.ttft, slo.tpot, slo.e2e};
  return all[index(limit)];
}

void allow(ServiceLevels& slo, SloLimit limit, Seconds time) {
  Seconds* const all[] = {&slo.ttft, &slo.tpot, &slo.e2e};
  *all[index(limit)] = time;
}

std::string metric_of(const ServiceLevels& slo, SloLimit limit) {
  const std::optional<double>* const own[] = {&slo.ttft_percentile, &slo.tpot_percentile,
                                              &slo.e2e_percentile};
  const double percentile = own[index(limit)]->value_or(slo.percentile);
  return percentile_name(name_of(limit), percentile);
}

SloFigures::SloFigures(const ServiceLevels& slo, const Point& point) {
  for (const SloLimit limit : kSloLimits) {
    if (allowed(slo, limit) <= Seconds(0)) continue;
    if (const Metric* m = point.find(metric_of(slo, limit))) figures_[index(limit)] = m->value;
  }
}

std::optional<bool> SloFigures::keep(const ServiceLevels& slo) const {
  bool kept = true;
  for (const SloLimit limit : kSloLimits) {
    const Seconds time = allowed(slo, limit);
    if (time <= Seconds(0)) continue;
    if (!at(limit)) return std::nullopt;
    kept = kept && *at(limit) <= time / milliseconds(1);
  }
  return kept;
}

}  // namespace orrery
