// Sarathi-Serve (Agrawal et al. 2024): stall-free batches within a chunk of
// max_num_batched_tokens.
//
// Every step: first one token for each sequence that decodes, then the running prompts that are not
// yet computed, then newcomers; prompts take what is left of the chunk. A newcomer gets blocks for
// its whole prompt, and 1 % of all blocks stay free after it. Where a decode finds no free block
// the last admitted gives up its own and waits at the head with what it had as its prompt; there
// are no newcomers in that step.
//
// A sequence alone on the engine may use all blocks. Decodes are planned though they exceed the
// chunk.
#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

constexpr std::int64_t kWatermark = 100;  // one block in 100 stays free at admission

class Sarathi : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    budget_ = engine.limits().max_num_batched_tokens;
    plan_decodes(engine, plan);
    plan_prompts(engine, plan);
    if (plan.evicted.empty()) admit(engine, plan);
  }

 private:
  void plan_decodes(EngineState& engine, StepPlan& plan) {
    auto& running = engine.queues.running;
    for (std::size_t i = 0; i < running.size(); ++i) {
      Sequence& s = engine.at(running[i]);
      if (!s.decodes() || s.wanted() == 0) continue;
      while (engine.kv.pool().free() == 0 && running.size() > 1 && i < running.size())
        engine.evict_running(running.size() - 1, plan.evicted);
      if (i == running.size()) break;
      engine.kv.grow(s, 1);
      plan.work.push_back({running[i], 1});
      --budget_;
    }
  }

  void plan_prompts(EngineState& engine, StepPlan& plan) {
    for (Slot slot : engine.queues.running) {
      if (budget_ <= 0) return;
      Sequence& s = engine.at(slot);
      if (s.decodes()) continue;
      const auto n = static_cast<std::int32_t>(std::min<std::int64_t>(s.wanted(), budget_));
      engine.kv.grow(s, n);
      plan.work.push_back({slot, n});
      budget_ -= n;
    }
  }

  void admit(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    while (!engine.queues.waiting.empty() && budget_ > 0 &&
           static_cast<std::int64_t>(engine.queues.running.size()) < l.max_num_seqs) {
      Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s);
      const std::int64_t spare =
          engine.queues.running.empty() ? 0 : engine.kv.pool().size() / kWatermark;
      const std::int64_t needed = engine.kv.blocks_for(s.tokens) - engine.kv.prefix_blocks();
      if (engine.kv.free_after_prefix() - needed < spare) return;
      const auto n = static_cast<std::int32_t>(std::min<std::int64_t>(s.tokens - cached, budget_));
      plan.work.push_back({engine.admit(n), n});
      engine.kv.reserve(s, s.tokens);
      budget_ -= n;
    }
  }

  std::int64_t budget_ = 0;
};

}  // namespace

std::unique_ptr<Scheduler> make_sarathi(const SchedulerSetup&) {
  return std::make_unique<Sarathi>();
}

}  // namespace orrery
