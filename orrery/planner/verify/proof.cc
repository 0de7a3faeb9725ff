#include "orrery/planner/verify/proof.h"

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"

namespace orrery {
namespace {

constexpr std::int64_t kOtherSeed = 1'000'003;  // the first seed of a proof, beside the question's
constexpr std::int64_t kMostAdded = 8;
constexpr double kLess = 0.98;       // of the rate, where it was too high
constexpr double kMostHeadroom = 4;  // times the rate
constexpr double kClose = 1.02;

double headroom_of(const FleetPlan& fleet, double rate, Trials& trials) {
  double meets = 1, misses = kMostHeadroom;
  if (trials.meets(fleet, misses * rate)) return misses;
  while (misses / meets > kClose) {
    const double middle = (meets + misses) / 2;
    (trials.meets(fleet, middle * rate) ? meets : misses) = middle;
  }
  return meets;
}

}  // namespace

Proof prove(const Scenario& question, const Raced& raced, Trials& trials) {
  const PlanQuestion& asked = question.as<PlanQuestion>();
  const std::int64_t seed = asked.service.seed + kOtherSeed;
  const bool by_rate = asked.choice.objective == PlanObjective::kThroughput;
  Proof out;
  out.raced = raced;
  FleetPlan fleet = raced.fleet.at_work();
  for (;;) {
    out.kept = Trials::kept(trials.again(fleet, out.raced.rate, seed, trials.deviations(), false));
    if (out.kept || out.added >= kMostAdded) break;
    ++out.added;
    if (by_rate) {
      out.raced.rate *= kLess;
      out.raced.value = out.raced.rate;
      continue;
    }
    const double before = static_cast<double>(out.raced.fleet.gpus());
    const bool decode = fleet.decode.has_value() && out.added % 2 == 0;
    for (FleetPlan* f : {&fleet, &out.raced.fleet}) ++(decode ? f->decode_engines : f->engines);
    if (asked.choice.objective != PlanObjective::kEnergy)
      out.raced.value *= static_cast<double>(out.raced.fleet.gpus()) / before;
  }
  if (!out.kept) return out;
  out.point = trials.again(out.raced.fleet, out.raced.rate, seed, 0, true);
  int kept = 0;
  for (int level = 0; level < kLevels; ++level) {
    const double sigmas = normal_quantile((level + 0.5) / kLevels);
    const Point p = trials.again(fleet, out.raced.rate, seed + 1 + level, sigmas, false);
    kept += Trials::kept(p) ? 1 : 0;
  }
  out.chance = static_cast<double>(kept) / kLevels;
  out.headroom = 100 * (headroom_of(fleet, out.raced.rate, trials) - 1);
  return out;
}

}  // namespace orrery
