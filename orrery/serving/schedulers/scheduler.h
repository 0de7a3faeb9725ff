// Batch schedulers: which sequences compute how many tokens in the next step.
//
// A scheduler is asked whenever the engine can take a step; it moves sequences between
// EngineState::waiting and running, takes and evicts KV blocks, and fills `work`. It reads no
// clock. A sequence whose last token is being made (Sequence::wanted() == 0) stays in `running`
// until the engine removes it. One for which decoding is a token a step for everybody can have
// these counted together (decode_group.h).
//
// Adding one: a file that implements Scheduler, and a line in schedulers.def (docs/serving.md).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/serving/state/engine_state.h"

namespace orrery {

struct StepPlan {
  std::vector<Work> work;     // in the order of the batch, without the members of the decode group
  bool decode_group = false;  // all members of EngineState::decode_group compute a token
  std::vector<Slot> evicted;  // in this step
  std::vector<Slot> stalled;  // running, ready to decode, left out in favour of prompts

  bool empty() const { return work.empty() && !decode_group; }
  void clear() { work.clear(), evicted.clear(), stalled.clear(), decode_group = false; }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void plan(EngineState& engine, StepPlan& plan) = 0;
};

// A new scheduler of the kind called `name`. Throws InputError with the nearest name.
std::unique_ptr<Scheduler> make_scheduler(std::string_view name);

}  // namespace orrery
