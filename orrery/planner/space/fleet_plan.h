// The parts of a plan: engines of one kind, or a pool for prefill and one for decode.
//
// An engine option is a GPU, an engine, a format of the weights, a layout, the drafter of its
// speculation, if it has one, and whether its prefix caching is turned off. A fleet is a number of
// engines of one option, or of two. Both know their scenario, so that what is planned is asked,
// written to files and simulated as any other question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/service/techniques.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

struct EngineOption {
  GpuStock gpu;
  std::string engine;        // id of the engine's profile
  std::string format;        // of the weights; empty: the checkpoint's
  ParallelPlan layout = {};  // its `experts` are not read: they are those of the question
  PowerKnobs boards = {};    // of each GPU
  // Most sequences that run at once, and most tokens of a step; 0: the engine's own.
  std::int64_t max_num_seqs = 0, max_num_batched_tokens = 0;
  SpeculationChoice speculation = {};  // the question's, or none
  bool prefix_caching = true;          // false: off, whatever the engine does by itself

  std::int64_t gpus() const { return std::int64_t{layout.tp} * layout.pp * layout.dp; }
  // "4 h100-sxm, vllm, fp8, tp 4"; no other option of a space has the same name.
  std::string name() const;
  // Whether both may be pools of one fleet: they differ at most in their layout, and divide no KV
  // cache among ranks, whose transfer is not known.
  bool pairs_with(const EngineOption& other) const;
  // The question with this engine. REQUIRES a PlanQuestion.
  Scenario asked(const Scenario& question) const;
};

struct FleetPlan {
  EngineOption engine;  // of prefill, where there is a pool for decode
  std::int64_t engines = 1;
  std::optional<EngineOption> decode;
  std::int64_t decode_engines = 0;
  // Engines of each pool, among those above, that may be lost while the limits hold.
  std::int64_t spare = 0, decode_spare = 0;

  std::int64_t gpus() const;
  std::string name() const;
  // The fleet without its spare engines.
  FleetPlan at_work() const;
  // The simulated service: the load of `question` on this fleet. REQUIRES a PlanQuestion.
  Scenario service(const Scenario& question) const;
};

}  // namespace orrery
