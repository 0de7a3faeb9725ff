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

// The fleet without its spare engines, which are those that may be lost.
FleetPlan at_work(FleetPlan fleet, std::int64_t spare) {
  fleet.engines -= spare;
  if (fleet.decode) fleet.decode_engines -= spare;
  return fleet;
}

double headroom_of(const FleetPlan& fleet, double rate, Trials& trials) {
  double meets = 1, misses = kMostHeadroom;
  if (trials.meets(fleet, misses * rate)) return misses;
  while (misses / meets > kClose) {
    const double middle = (meets + misses) / 2;
    (trials.meets(fleet, middle * rate) ? meets : misses) = middle;
  }
  return meets;
}

double sigmas_of(std::size_t level) {
  return normal_quantile((static_cast<double>(level) + 0.5) / kLevels);
}

// What one rank does at once of the proof of a plan, the longest first: the search for its headroom,
// or a simulation.
constexpr std::size_t kHeadroom = 0, kFigures = 1, kTrial = 2, kFirstLevel = 3;
constexpr std::size_t kTasks = kFirstLevel + kLevels;

// Asks for a part of a proof, if the plan needs no further engines.
void prove_part(const Scenario& question, const Raced& raced, std::size_t part, Trials& trials) {
  const PlanQuestion& asked = question.as<PlanQuestion>();
  const std::int64_t seed = asked.service.seed + kOtherSeed;
  const FleetPlan fleet = at_work(raced.fleet, asked.choice.spare);
  if (part == kTrial) {
    trials.again(fleet, raced.rate, seed, trials.deviations(), false);
  } else if (part == kFigures) {
    trials.again(raced.fleet, raced.rate, seed, 0, true);
  } else if (part == kHeadroom) {
    headroom_of(fleet, raced.rate, trials);
  } else {
    const std::size_t level = part - kFirstLevel;
    trials.again(fleet, raced.rate, seed + 1 + static_cast<std::int64_t>(level), sigmas_of(level),
                 false);
  }
}

}  // namespace

Proof prove(const Scenario& question, const Raced& raced, Trials& trials, bool briefly) {
  const PlanQuestion& asked = question.as<PlanQuestion>();
  const std::int64_t seed = asked.service.seed + kOtherSeed;
  const bool by_rate = asked.choice.objective == PlanObjective::kThroughput;
  Proof out;
  out.raced = raced;
  FleetPlan fleet = at_work(raced.fleet, asked.choice.spare);
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
  out.brief = briefly;
  if (briefly) return out;
  int kept = 0;
  for (int level = 0; level < kLevels; ++level) {
    const double sigmas = sigmas_of(static_cast<std::size_t>(level));
    const Point p = trials.again(fleet, out.raced.rate, seed + 1 + level, sigmas, false);
    kept += Trials::kept(p) ? 1 : 0;
  }
  out.chance = static_cast<double>(kept) / kLevels;
  out.headroom = 100 * (headroom_of(fleet, out.raced.rate, trials) - 1);
  return out;
}

std::vector<Proof> prove_all(const Scenario& question, const std::vector<Raced>& raced,
                             Trials& trials) {
  std::vector<Proof> out;
  const auto prove_one = [&](const Raced& r, bool briefly) {
    Proof proof = prove(question, r, trials, briefly);
    if (proof.kept) out.push_back(std::move(proof));
  };
  Desk& desk = trials.desk();
  Trials apart = trials.apart();
  const auto ahead = [&](std::size_t task, double) {
    prove_part(question, raced[task / kTasks], task % kTasks, apart);
  };
  desk.together("proof", raced.size() * kTasks, ahead, [&] {
    try {
      for (std::size_t i = 0; i < raced.size(); ++i) {
        for (std::size_t part = 0; part < kTasks; ++part) desk.reach(i * kTasks + part);
        prove_one(raced[i], false);
      }
    } catch (const Stopped&) {
    }
  });
  if (!desk.stopped()) return out;
  desk.finish();
  for (const Raced& r : raced)
    if (out.empty()) prove_one(r, true);
  return out;
}

}  // namespace orrery
