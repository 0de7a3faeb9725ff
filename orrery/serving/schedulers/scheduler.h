// The interface of batch schedulers, which decide which sequences compute how many tokens in the
// next step.
//
// A scheduler is asked whenever the engine can plan a step. It moves sequences between
// Queues::waiting and Queues::running, takes and gives back KV blocks, and fills a StepPlan. It
// reads no clock. A sequence whose last token is being made (Sequence::wanted() == 0) stays in
// `running` until the engine removes it. A scheduler under which decoding is one token a step for
// every sequence can leave these to the decode group (decode_group.h).
//
// Adding one: a file that implements Scheduler and declares its parameters, and an entry of
// schedulers.def (docs/serving.md).
#pragma once

#include <memory>
#include <vector>

#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/serving/state/engine_state.h"

namespace orrery {

// The next step, and the changes that planning it made.
struct StepPlan {
  std::vector<Work> work;     // in the order of the batch, without members of the decode group
  bool decode_group = false;  // all members of EngineState::decode_group compute a token
  std::vector<Slot> evicted;  // sequences that gave up their KV cache
  std::vector<Slot> stalled;  // running sequences that could decode but are left out for prompts

  bool empty() const { return work.empty() && !decode_group; }
  void clear() { work.clear(), evicted.clear(), stalled.clear(), decode_group = false; }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Plans the next step. `plan` is empty when it is called, and stays empty if nothing can be
  // computed.
  virtual void plan(EngineState& engine, StepPlan& plan) = 0;
  // Whether the next plan is the decode group alone, with blocks for its members and nothing else,
  // and so are those after it for DecodeGroup::even_steps() steps and as long as these blocks are
  // free. REQUIRES that the last plan was the decode group alone, and that since then no sequence
  // has come, gone or given back a block.
  virtual bool repeats(const EngineState& /*engine*/) const { return false; }

  // ---- what closed forms and engines ask before any step ----

  // Whether a step that computes prompts carries no decodes.
  virtual bool prompts_alone() const { return false; }
  // The number of prompts of `tokens` new tokens each that a step of all ranks computes, where the
  // token budget takes `fitting`.
  virtual std::int64_t prompts_in_step(std::int64_t fitting, std::int64_t /*tokens*/) const {
    return fitting;
  }
  // Attention data parallelism: most steps for which prompts wait until every rank has one
  // (engine.h). 0: they do not wait.
  virtual std::int64_t balance_timeout() const { return 0; }
  // Throws NoData if the parameters exclude speculative decoding.
  virtual void check_drafts() const {}
};

// A new scheduler of the kind that the profile names. Throws InputError with the nearest name.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerSetup& setup);

}  // namespace orrery
