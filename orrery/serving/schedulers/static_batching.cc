// Static batching (FasterTransformer, plain model.generate): a batch runs until its last member is
// done, then the next batch is formed.
//
// A batch takes the waiting requests up to max_num_seqs and up to the memory for the prompt and all
// of the output of each, which is reserved at the start. Prompts are computed first, whole (or in
// chunks, with chunked prefill), in steps of at most max_num_batched_tokens tokens; a longer prompt
// has a step of its own. Then all members decode. Members that are done leave the steps, though
// some engines go on computing them. Their memory is not used again before the batch ends.
#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

class StaticBatching : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    if (engine.queues.running.empty()) form_batch(engine);
    plan_prompts(engine, plan);
    const bool prompts = !plan.work.empty();
    for (Slot slot : engine.queues.running) {
      Sequence& s = engine.at(slot);
      if (!s.decodes() || s.wanted() == 0) continue;
      if (prompts) {
        plan.stalled.push_back(slot);
        continue;
      }
      engine.kv.grow(s, 1);
      plan.work.push_back({slot, 1});
    }
  }

  bool prompts_alone() const override { return true; }

 private:
  static void form_batch(EngineState& engine) {
    while (!engine.queues.waiting.empty() &&
           static_cast<std::int64_t>(engine.queues.running.size()) < engine.limits().max_num_seqs) {
      Sequence& s = engine.at(engine.queues.waiting.front());
      engine.kv.cached_prefix(s);
      const std::int64_t needed =
          engine.kv.blocks_for(s.cached_at_end()) - engine.kv.prefix_blocks();
      if (needed > engine.kv.free_after_prefix()) return;
      engine.admit(0);
      engine.kv.reserve(s, s.cached_at_end());
    }
  }

  static void plan_prompts(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    std::int64_t budget = l.max_num_batched_tokens;
    for (Slot slot : engine.queues.running) {
      Sequence& s = engine.at(slot);
      if (s.decodes()) continue;
      if (budget <= 0) return;
      std::int64_t n = s.wanted();
      if (n > budget) {
        if (l.chunked_prefill) {
          n = budget;
        } else if (!plan.work.empty()) {
          return;
        }
      }
      engine.kv.grow(s, static_cast<std::int32_t>(n));
      plan.work.push_back({slot, static_cast<std::int32_t>(n)});
      budget -= n;
    }
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_static_batching(const SchedulerSetup&) {
  return std::make_unique<StaticBatching>();
}

}  // namespace orrery
