// The limits of a service one by one, and the figures of a simulation that are held against them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

enum class SloLimit { kTtft, kTpot, kE2e };
inline constexpr std::array kSloLimits = {SloLimit::kTtft, SloLimit::kTpot, SloLimit::kE2e};

// "ttft", "tpot", "e2e".
std::string name_of(SloLimit limit);
// The time that the limit allows; 0: there is no such limit.
Seconds allowed(const ServiceLevels& slo, SloLimit limit);
void allow(ServiceLevels& slo, SloLimit limit, Seconds time);
// "tpot_p99": the metric that the limit is held against; where there is no limit, that against
// which it would be.
std::string metric_of(const ServiceLevels& slo, SloLimit limit);

// The figures of an answer for the limits that a question has.
class SloFigures {
 public:
  SloFigures() = default;
  SloFigures(const ServiceLevels& slo, const Point& point);

  // ms; none: there is no such limit, or the answer does not have its percentile.
  std::optional<double> of(SloLimit limit) const { return at(limit); }
  // Whether the figures keep the limits, which have the percentiles of the limits that they were
  // made for; none: one of them is not known.
  std::optional<bool> keep(const ServiceLevels& slo) const;

 private:
  const std::optional<double>& at(SloLimit l) const { return figures_[index(l)]; }
  std::array<std::optional<double>, 3> figures_;
};

}  // namespace orrery
