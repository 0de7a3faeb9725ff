// Orca (Yu et al. 2022): iteration-level scheduling, with KV memory reserved for the longest
// output.
//
// Every step computes all running sequences, a decode one token, a newcomer its whole prompt, in
// one batch. A newcomer is taken when there is memory for its prompt and all of its output, which
// is its own from then on: nothing is ever evicted. Limits: max_num_seqs; there is no token budget.
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

class Orca : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    for (Slot slot : engine.queues.running) {
      Sequence& s = engine.at(slot);
      if (s.wanted() == 0) continue;
      engine.kv.grow(s, 1);
      plan.work.push_back({slot, 1});
    }
    while (!engine.queues.waiting.empty() &&
           static_cast<std::int64_t>(engine.queues.running.size()) < engine.limits().max_num_seqs) {
      Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s), n = s.tokens - cached;
      const std::int64_t needed =
          engine.kv.blocks_for(s.cached_at_end()) - engine.kv.prefix_blocks();
      if (needed > engine.kv.free_after_prefix()) return;
      plan.work.push_back({engine.admit(n), n});
      engine.kv.reserve(s, s.cached_at_end());
    }
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_orca(const SchedulerSetup&) { return std::make_unique<Orca>(); }

}  // namespace orrery
