// The most that one engine can do within the limits, by the closed form of a fixed batch: the first
// stage of the planner, which decides what need not be simulated.
//
// The closed form states two times of a batch of b requests of mean lengths: P(b), in which their
// prompts are computed, and t(b), the mean decode step. A step with prompts and decodes takes at
// least as long as one with either of them. Within any time in which n requests are served an
// engine therefore works at least for as long as their prompts alone, and as their decodes alone,
// take in steps of the best size:
//
//   rate <= min(max_b b / P(b), max_b b / (osl t(b)))          prefill, decode
//
// Decode counts the batches whose step alone keeps the limits (t(b) <= slo.tpot, and osl t(b) <=
// slo.e2e where all requests are equal), if at least half of the requests must meet them, and the
// next one that is tried, because b / t(b) grows up to it. Memory holds fewer requests of full
// length than of the mean length that they have over their time; the largest batch is therefore
// exceeded by (isl + osl) / (isl + osl / 2). Prompts that repeat others may be in the prefix cache,
// so that prefill bounds nothing there, unless the option turns the cache off. Both rates are
// raised by kSlack for lengths that scatter around their means.
//
// The closed form has no speculation. A step that verifies drafts takes at least as long as one
// that decodes the same sequences, makes on average m tokens of a sequence
// (tokens_per_verification, with the acceptance of the luckiest requests) and never more than
// 1 + drafts. With a drafter, osl / m steps take the place of osl in these formulas, and
// t(b) / (1 + drafts) must keep the limits. One request is simulated to know whether the drafter
// goes with the engine and its memory.
//
// `likely` is what the same batch gives if prefill and decode take turns:
//
//   likely = max_b 1 / (P(b)/b + osl t(b)/b)     with t(b) + P(b)/b (b - 1)/osl <= slo.tpot
//
// Limits of classes of requests (slo.classes) bound nothing, but `likely` keeps all their tpot.
#pragma once

#include <string>

#include "orrery/planner/bound/planned_load.h"
#include "orrery/planner/space/fleet_plan.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

inline constexpr double kSlack = 1.1;

struct EngineBound {
  std::string misfit;         // why the engine cannot serve at all; empty: it can
  double prefill = 0;         // requests/s whose prompts it can compute, at most
  double decode = 0;          // requests/s that it can decode, at most
  double likely = 0;          // requests/s that it does both for, as a start for the search
  double hour = 0;            // USD for an hour of its GPUs; 0: not asked
  double ttft = 0, tpot = 0;  // of a request alone, ms; with a drafter the least

  double most() const { return prefill < decode ? prefill : decode; }
};

EngineBound engine_bound(Runner& runner, const Scenario& question, const EngineOption& option,
                         const PlannedLoad& load);

}  // namespace orrery
