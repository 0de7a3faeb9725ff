// TensorRT-LLM's in-flight batching (batch manager 0.10 to 1.0), with its two capacity policies.
//
// Every step: one token and its drafts for each sequence that decodes, then the running prompts
// that are not yet computed, then newcomers, within max_num_batched_tokens (its max_num_tokens).
// With chunked prefill a chunk that does not end a prompt is a whole number of blocks. A newcomer
// gets the blocks of its whole prompt.
//
//   guaranteed no evict   a newcomer is taken if all running and it can run to their last token:
//                         nothing is ever evicted (the default)
//   maximum utilisation   a newcomer is taken if its prompt fits now; where a decode finds no block
//                         the last admitted is paused: its blocks are freed, it waits at the head
//                         and is computed again. There are no newcomers in that step.
//
// Outputs have their full length, so that a request's max_tokens is its output. A prompt longer
// than the budget without chunked prefill is computed whole, alone among newcomers.
// Where prompts are held (attention data parallel, engine.h) a step that decodes carries none. With
// batch_wait_steps a step that decodes carries none either, until the prompts that could join it
// and its decodes have batch_wait_ratio of the budget, or that many such steps have passed
// (_waiting_requests, tensorrt_llm/_torch/pyexecutor/py_executor.py).
// Left out: policies that share a chunk among prompts.
#include <algorithm>
#include <cmath>

#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

struct TrtLlmParameters {
  // With attention data parallelism: most steps for which prompts wait until every rank has one
  // (orrery/serving/engine/engine.h). 0: they do not wait.
  std::int64_t balance_timeout = 0;
  // Without attention data parallelism: while sequences decode, prompts wait for at most this many
  // steps, unless the step with them has at least batch_wait_ratio * max_num_batched_tokens tokens
  // (batch_wait_timeout_iters and batch_wait_max_tokens_ratio). 0 steps: they do not wait.
  std::int64_t batch_wait_steps = 0;
  double batch_wait_ratio = 0;

  void declare(Fields& f) {
    f.add(
         "balance_timeout", balance_timeout,
         "TensorRT-LLM, attention data parallel: most steps that prompts wait until every rank has "
         "one; 0: they do not wait")
        .unit("steps")
        .range(0, 1e6);
    f.add("batch_wait_steps", batch_wait_steps,
          "TensorRT-LLM: most decode steps that prompts wait until a step with them is large "
          "enough; 0: they do not wait")
        .alias("batch_wait_timeout_iters")
        .unit("steps")
        .range(0, 1e6);
    f.add("batch_wait_ratio", batch_wait_ratio,
          "tokens of a step for which prompts wait no longer, relative to max_num_batched_tokens")
        .alias("batch_wait_max_tokens_ratio")
        .range(0, 1);
  }
};

class TrtLlm : public Scheduler {
 public:
  TrtLlm(const SchedulerSetup& setup, bool evicts)
      : parameters_(setup.profile.own.of<TrtLlmParameters>()),
        // The ranks of attention data parallelism balance their prompts instead.
        wait_steps_(setup.ranks == 1 ? parameters_.batch_wait_steps : 0),
        wait_tokens_(
            std::llround(std::ceil(parameters_.batch_wait_ratio *
                                   static_cast<double>(setup.profile.max_num_batched_tokens)))),
        evicts_(evicts) {}

  void plan(EngineState& engine, StepPlan& plan) override {
    budget_ = engine.limits().max_num_batched_tokens;
    for (std::size_t i = 0; i < engine.queues.running.size(); ++i) {
      const Sequence& s = engine.at(engine.queues.running[i]);
      if (!s.decodes() || s.wanted() == 0) continue;
      // No draft is verified beyond the end of the output.
      const std::int32_t n = std::min(s.wanted(), s.cached_at_end() - s.computed);
      if (!engine.grow_evicting(i, n, plan.evicted)) break;
      plan.work.push_back({engine.queues.running[i], n});
      budget_ -= n;
    }
    if (!plan.work.empty() && (engine.hold_prompts || waits(engine))) return;
    for (Slot slot : engine.queues.running) {
      Sequence& s = engine.at(slot);
      if (s.decodes() || budget_ <= 0) continue;
      const std::int32_t n = chunk(engine, plan, s.wanted());
      if (n == 0) return;
      engine.kv.grow(s, n);
      plan.work.push_back({slot, n});
      budget_ -= n;
    }
    if (plan.evicted.empty()) admit(engine, plan);
  }

  std::int64_t balance_timeout() const override { return parameters_.balance_timeout; }

 private:
  // Whether prompts that could join this step, which decodes, wait for more of them.
  bool waits(const EngineState& engine) {
    if (wait_steps_ == 0) return false;
    const std::int64_t prompts = joining(engine);
    if (prompts == 0) return false;
    const std::int64_t budget = engine.limits().max_num_batched_tokens;
    if (waited_ >= wait_steps_ || budget - budget_ + prompts >= wait_tokens_) {
      waited_ = 0;
      return false;
    }
    ++waited_;
    return true;
  }

  // Prompt tokens that fit into the rest of the budget: of running prompts, then of newcomers, if
  // memory and max_num_seqs take the first of them.
  std::int64_t joining(const EngineState& engine) const {
    std::int64_t tokens = 0;
    for (Slot slot : engine.queues.running) {
      const Sequence& s = engine.at(slot);
      if (!s.decodes()) tokens += s.wanted();
    }
    const EngineProfile::Scheduler& l = engine.limits();
    auto running = static_cast<std::int64_t>(engine.queues.running.size());
    std::int64_t free = engine.kv.pool().free() - (evicts_ ? 0 : promised(engine));
    for (Slot slot : engine.queues.waiting) {
      const Sequence& s = engine.at(slot);
      const std::int64_t taken =
          engine.kv.blocks_for(s.tokens) +
          (evicts_ ? 0 : engine.kv.needed_until(s.cached_at_end(), s.tokens));
      if (taken > free || running >= l.max_num_seqs || tokens + s.tokens > budget_) break;
      tokens += s.tokens;
      free -= taken;
      ++running;
    }
    return std::min(tokens, budget_);
  }

  // Number of the `wanted` tokens that go into this step.
  std::int32_t chunk(const EngineState& engine, const StepPlan& plan, std::int64_t wanted) const {
    if (wanted <= budget_) return static_cast<std::int32_t>(wanted);
    const std::int64_t whole = budget_ - budget_ % engine.kv.block_size();
    return static_cast<std::int32_t>(whole == 0 && plan.work.empty() ? budget_ : whole);
  }

  // Blocks that running sequences will still take until their last tokens.
  static std::int64_t promised(const EngineState& engine) {
    std::int64_t n = 0;
    for (Slot slot : engine.queues.running) {
      const Sequence& s = engine.at(slot);
      n += engine.kv.needed_until_end(s);
    }
    return n;
  }

  void admit(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    if (engine.queues.waiting.empty()) return;
    std::int64_t kept = evicts_ ? 0 : promised(engine);
    bool first = true;
    while (!engine.queues.waiting.empty() && budget_ > 0 &&
           static_cast<std::int64_t>(engine.queues.running.size()) < l.max_num_seqs) {
      Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s);
      const std::int64_t wanted = s.tokens - cached;
      const std::int64_t prompt = engine.kv.blocks_for(s.tokens) - engine.kv.prefix_blocks();
      const std::int64_t later = evicts_ ? 0 : engine.kv.needed_until(s.cached_at_end(), s.tokens);
      if (prompt + later > engine.kv.free_after_prefix() - kept) return;
      auto n = static_cast<std::int32_t>(wanted);
      if (l.chunked_prefill) {
        n = chunk(engine, plan, wanted);
      } else if (wanted > budget_ && (!first || wanted <= l.max_num_batched_tokens)) {
        return;
      }
      if (n == 0) return;
      plan.work.push_back({engine.admit(n), n});
      engine.kv.reserve(s, s.tokens);
      kept += later;
      budget_ -= n;
      first = false;
    }
  }

  const TrtLlmParameters parameters_;
  const std::int64_t wait_steps_, wait_tokens_;
  const bool evicts_;
  std::int64_t budget_ = 0;
  std::int64_t waited_ = 0;  // steps for which the prompts have waited
};

}  // namespace

void declare_trtllm(Fields& f, OwnParameters& own) { own.of<TrtLlmParameters>().declare(f); }
std::unique_ptr<Scheduler> make_trtllm_no_evict(const SchedulerSetup& setup) {
  return std::make_unique<TrtLlm>(setup, false);
}
std::unique_ptr<Scheduler> make_trtllm_max_utilization(const SchedulerSetup& setup) {
  return std::make_unique<TrtLlm>(setup, true);
}

}  // namespace orrery
