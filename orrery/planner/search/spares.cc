#include "orrery/planner/search/spares.h"

#include <algorithm>
#include <cmath>

#include "orrery/planner/question/plan_question.h"
#include "orrery/training/chance/chance.h"

namespace orrery {
namespace {

constexpr double kDay = 86400;
constexpr std::int64_t kMostSpares = 10'000;

}  // namespace

double share_of_time(std::int64_t n, std::int64_t k, double u) {
  if (u <= 0) return 1;
  const auto all = static_cast<double>(n + k);
  double share = 0;
  for (std::int64_t i = 0; i <= k; ++i) {
    const auto down = static_cast<double>(i);
    share += std::exp(std::lgamma(all + 1) - std::lgamma(down + 1) - std::lgamma(all - down + 1) +
                      down * std::log(u) + (all - down) * std::log1p(-u));
  }
  return std::min(share, 1.0);
}

double down_share(std::int64_t gpus, Seconds repair) {
  const double lost = kLlama3FailuresPerGpuDay * static_cast<double>(gpus) * repair.value() / kDay;
  return lost / (1 + lost);
}

std::int64_t spares(const PlanChoice& plan, const EngineOption& engine, std::int64_t engines) {
  std::int64_t k = plan.spare;
  if (plan.availability <= 0) return k;
  const double u = down_share(engine.gpus(), plan.repair);
  while (k < kMostSpares && share_of_time(engines, k, u) < plan.availability / 100) ++k;
  return k;
}

}  // namespace orrery
