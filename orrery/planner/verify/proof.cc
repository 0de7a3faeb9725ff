#include "orrery/planner/verify/proof.h"

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {
namespace {

constexpr std::int64_t kOtherSeed = 1'000'003;  // the first seed of a proof, beside the question's
constexpr std::int64_t kMostAdded = 8;          // engines
constexpr std::int64_t kMostLowered = 34;       // times; half of the rate is then left
constexpr double kLess = 0.98;                  // of the rate, where it was too high
constexpr double kMostHeadroom = 4;             // times the rate
constexpr double kClose = 1.02;

// Gives the fleet further engines, or a lower rate, until it keeps the limits.
Proof settled(const Scenario& question, const RacedFleet& raced, Trials& trials) {
  const PlanQuestion& asked = planned(question);
  const bool by_rate = asked.choice.objective == PlanObjective::kThroughput;
  Proof out;
  out.raced = raced;
  const std::int64_t most = by_rate ? kMostLowered : kMostAdded;
  FleetPlan fleet = raced.fleet.at_work();
  for (std::int64_t changes = 1;; ++changes) {
    out.kept = Trials::kept(
        trials.again(fleet, out.raced.rate, first_seed(asked), trials.deviations(), false));
    if (out.kept || changes > most) return out;
    if (by_rate) {
      out.raced.rate *= kLess;
      out.raced.value = out.raced.rate;
      out.raced.ranked *= kLess;
      continue;
    }
    const double before = static_cast<double>(out.raced.fleet.gpus());
    const bool decode = fleet.decode.has_value() && changes % 2 == 0;
    for (FleetPlan* f : {&fleet, &out.raced.fleet}) ++(decode ? f->decode_engines : f->engines);
    if (asked.choice.objective != PlanObjective::kEnergy)
      out.raced.value *= static_cast<double>(out.raced.fleet.gpus()) / before;
  }
}

// The parts of the proof of a settled plan, each the task of a rank, the longest first: the search
// for its headroom, and single simulations.
constexpr std::size_t kHeadroom = 0, kSimulated = 1, kFirstLevel = 2;
constexpr std::size_t kTasks = kFirstLevel + kLevels;

void prove_part(const Scenario& question, std::size_t part, Proof& proof, Trials& trials) {
  const PlanQuestion& asked = planned(question);
  const std::int64_t seed = first_seed(asked);
  const FleetPlan fleet = proof.raced.fleet.at_work();
  const double rate = proof.raced.rate;
  if (part == kHeadroom) {
    proof.headroom = 100 * (headroom_of(fleet, rate, trials) - 1);
  } else if (part == kSimulated) {
    proof.point = trials.again(proof.raced.fleet, rate, seed, 0, true);
  } else {
    if (keeps_at(question, fleet, rate, static_cast<int>(part - kFirstLevel), trials))
      proof.chance += 1.0 / kLevels;
  }
}

}  // namespace

double headroom_of(const FleetPlan& fleet, double rate, Trials& trials) {
  double meets = 1, misses = kMostHeadroom;
  if (trials.meets(fleet, misses * rate)) return misses;
  while (misses / meets > kClose) {
    const double middle = (meets + misses) / 2;
    (trials.meets(fleet, middle * rate) ? meets : misses) = middle;
  }
  return meets;
}

double ranked_by(const Proof& proof, PlanObjective objective) {
  if (objective == PlanObjective::kThroughput) return proof.raced.ranked;
  return per_chance(proof.raced.value, proof.chance);
}

std::int64_t first_seed(const PlanQuestion& asked) { return asked.service.seed + kOtherSeed; }

bool keeps_at(const Scenario& question, const FleetPlan& fleet, double rate, int level,
              Trials& trials) {
  const std::int64_t seed = first_seed(planned(question)) + 1 + level;
  return Trials::kept(trials.again(fleet, rate, seed, deviations_at(level), false));
}

std::vector<Proof> prove_all(const Scenario& question, const std::vector<RacedFleet>& raced,
                             Trials& trials) {
  SearchContext& context = trials.context();
  Trials apart = trials.apart();
  std::vector<Proof> plans, out;
  context.together(
      "other requests", raced.size(),
      [&](std::size_t i, double) { settled(question, raced[i], apart); },
      [&] {
        for (std::size_t i = 0; i < raced.size(); ++i) {
          try {
            context.reach(i);
          } catch (const Stopped&) {
            context.finish();
          }
          if (context.stopped() && !plans.empty()) break;
          Proof plan = settled(question, raced[i], trials);
          if (plan.kept) plans.push_back(std::move(plan));
        }
      });
  // The longest tasks of all plans have the lowest numbers and are dealt first, so that no rank
  // begins one of them when nothing else is left.
  const std::size_t n = plans.size();
  const auto ahead = [&](std::size_t task, double) {
    Proof copy = plans[task % n];
    prove_part(question, task / n, copy, apart);
  };
  context.together("proof", n * kTasks, ahead, [&] {
    for (std::size_t i = 0; i < n; ++i) {
      Proof plan = plans[i];
      try {
        for (std::size_t part = 0; part < kTasks; ++part) {
          context.reach(part * n + i);
          prove_part(question, part, plan, trials);
        }
        out.push_back(std::move(plan));
      } catch (const Stopped&) {
        context.finish();
        break;
      }
    }
  });
  if (!context.stopped() || !out.empty() || plans.empty()) return out;
  Proof& best = plans.front();
  prove_part(question, kSimulated, best, trials);
  best.brief = true, best.chance = best.raced.chance();
  return {best};
}

}  // namespace orrery
