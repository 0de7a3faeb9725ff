// LightLLM's scheduler: newcomers are taken if the coming peak of KV memory fits.
//
// The peak follows from the tokens that each sequence holds now and the tokens that it still makes.
// When the sequence with the k-th most tokens to make ends, the k sequences with the most hold
// their present tokens and k times its tokens. The largest of these sums must fit into the memory,
// with a partly filled block counted for each sequence. Blocks of adapters in the pool are not
// available, as in S-LoRA. Nothing is evicted unless asynchronous scheduling delays the end of a
// sequence; then the sequence admitted last is.
//
// The queue is read when nothing runs and after every 10 decode steps. Prompts are computed whole,
// in steps without decodes of at most max_num_batched_tokens tokens and max_num_seqs sequences; a
// longer prompt has a step of its own (lightllm/server/router: max_wait_tokens, the request queue;
// VIDUR's LightLLM scheduler). Outputs have their full length, so that the peak is exact.
#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

constexpr int kDecodesBetween = 10;

class LightLlm : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    if (engine.queues.running.empty() || decodes_ >= kDecodesBetween) {
      decodes_ = 0;
      admit(engine, plan);
    }
    const std::size_t before = engine.queues.running.size() - plan.work.size();
    if (!plan.work.empty()) {
      for (std::size_t i = 0; i < before; ++i) {
        if (engine.at(engine.queues.running[i]).wanted() > 0)
          plan.stalled.push_back(engine.queues.running[i]);
      }
      return;
    }
    for (std::size_t i = 0; i < engine.queues.running.size(); ++i) {
      if (engine.at(engine.queues.running[i]).wanted() == 0) continue;
      if (!engine.grow_evicting(i, 1, plan.evicted)) break;
      plan.work.push_back({engine.queues.running[i], 1});
    }
    ++decodes_;
  }

  bool prompts_alone() const override { return true; }

 private:
  struct Load {
    std::int64_t held, left;  // tokens: in the KV cache, and to come
  };

  static Load load_of(const Sequence& s) {
    return {s.tokens, std::max(s.cached_at_end() - s.tokens, 0)};
  }

  // Whether `newcomer`, and `adapter` more blocks of adapters, fit until all sequences in loads_
  // have ended. If so, it is added to loads_.
  bool fits(const EngineState& engine, const Load& newcomer, std::int64_t adapter) {
    const auto at = std::upper_bound(loads_.begin(), loads_.end(), newcomer,
                                     [](const Load& a, const Load& b) { return a.left > b.left; });
    const auto place = loads_.insert(at, newcomer);
    const std::int64_t block = engine.kv.block_size();
    std::int64_t held = 0, sequences = 0, peak = 0;
    for (const Load& l : loads_) {
      held += l.held;
      ++sequences;
      peak = std::max(peak, held + sequences * (l.left + block - 1));
    }
    const std::int64_t blocks = engine.kv.pool().size() - engine.kv.adapter_blocks() - adapter;
    if (sequences == 1 || peak <= blocks * block) return true;
    loads_.erase(place);
    return false;
  }

  void admit(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    if (engine.queues.waiting.empty()) return;
    loads_.clear();
    for (Slot slot : engine.queues.running) loads_.push_back(load_of(engine.at(slot)));
    std::sort(loads_.begin(), loads_.end(),
              [](const Load& a, const Load& b) { return a.left > b.left; });
    std::int64_t budget = l.max_num_batched_tokens;
    while (!engine.queues.waiting.empty() &&
           static_cast<std::int64_t>(engine.queues.running.size()) < l.max_num_seqs) {
      const Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s), n = s.tokens - cached;
      if (n > budget && !plan.work.empty()) return;
      const std::int64_t needed = engine.kv.blocks_for(s.tokens) - engine.kv.prefix_blocks();
      const std::int64_t adapter = engine.kv.adapter_blocks(s);
      if (needed + adapter > engine.kv.free_after_prefix() || !fits(engine, load_of(s), adapter))
        return;
      plan.work.push_back({engine.admit(n), n});
      budget -= n;
    }
  }

  int decodes_ = 0;
  std::vector<Load> loads_;
};

}  // namespace

std::unique_ptr<Scheduler> make_lightllm(const SchedulerSetup&) {
  return std::make_unique<LightLlm>();
}

}  // namespace orrery
