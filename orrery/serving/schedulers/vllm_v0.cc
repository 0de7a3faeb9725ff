// vLLM before V1 (to 0.5): a step computes either prompts or decodes, prompts first.
//
// Prompts: the heads of the queue, whole, while after each at least 1 % of the blocks stay free,
// the running stay within max_num_seqs, and prompts x longest prompt (they are padded to one
// length) stays within the token budget. While such a step runs, those that decode stall.
//
// Decodes: otherwise every running sequence, in order of admission. Each needs a free block at
// hand; where there is none the last admitted gives up its blocks and waits at the head with what
// it had as its prompt.
//
// A prompt longer than the budget (vLLM's own default budget is the longest context) is computed
// alone in a step, and a sequence alone on the engine may use all blocks.
//
// Kwon et al. 2023; the rules are those of vLLM 0.2 to 0.5 as VIDUR (Agrawal et al. 2024) has them.
// Left out: swapping to host memory (recomputation is the default), several samples a request.
#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

constexpr std::int64_t kVllmWatermark = 100;  // one block in 100 stays free at admission

class VllmV0 : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    plan_prompts(engine, plan);
    if (plan.work.empty()) {
      plan_decodes(engine, plan);
      return;
    }
    for (std::size_t i = 0; i + plan.work.size() < engine.queues.running.size(); ++i) {
      if (engine.at(engine.queues.running[i]).wanted() > 0)
        plan.stalled.push_back(engine.queues.running[i]);
    }
  }

  bool prompts_alone() const override { return true; }

 private:
  static void plan_prompts(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    std::int64_t longest = 0;
    while (!engine.queues.waiting.empty() &&
           static_cast<std::int64_t>(engine.queues.running.size()) < l.max_num_seqs) {
      const Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s), n = s.tokens - cached;
      longest = std::max<std::int64_t>(longest, n);
      const auto prompts = static_cast<std::int64_t>(plan.work.size()) + 1;
      if (prompts > 1 && prompts * longest > l.max_num_batched_tokens) break;
      const std::int64_t spare =
          engine.queues.running.empty() ? 0 : engine.kv.pool().size() / kVllmWatermark;
      const std::int64_t needed = engine.kv.blocks_for(s.tokens) - engine.kv.prefix_blocks();
      if (engine.kv.free_after_prefix() - needed < spare) break;
      plan.work.push_back({engine.admit(n), n});
    }
  }

  static void plan_decodes(EngineState& engine, StepPlan& plan) {
    auto& running = engine.queues.running;
    for (std::size_t i = 0; i < running.size(); ++i) {
      Sequence& s = engine.at(running[i]);
      if (s.wanted() == 0) continue;
      while (engine.kv.pool().free() == 0 && running.size() > 1 && i < running.size())
        engine.evict_running(running.size() - 1, plan.evicted);
      if (i == running.size()) break;
      engine.kv.grow(s, 1);
      plan.work.push_back({running[i], 1});
    }
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_v0(const SchedulerSetup&) {
  return std::make_unique<VllmV0>();
}

}  // namespace orrery
