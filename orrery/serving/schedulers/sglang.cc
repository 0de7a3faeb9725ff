// SGLang's scheduler (0.4 to 0.5).
//
// Prompts go first, in steps of their own (with mixed_chunk, in steps that also carry decodes): the
// rest of a prompt that was cut into chunks, then newcomers, within max_num_batched_tokens
// (SGLang's chunked_prefill_size). With max_prefill_tokens, newcomers
// wait for the next step once the prompts of this one (and mixed decodes) have used it up. Without
// chunked prefill so does a newcomer that is not shorter than what is left of it; the first prompt
// of a step may be longer. Newcomers are taken in the order of arrival (schedule-policy
// fcfs, the default of 0.5). With QueueOrder::kLpm they are taken by the length of the prefix that
// the cache holds, longest first, while no more than 128 wait. A newcomer is taken if its prompt
// and its output (at most 4096 tokens of it) fit into the memory that the running sequences are not
// expected to need. These are expected to need a share of their remaining output. The share starts
// at 0.7, falls with every decode step to 0.098 in 600 steps, and rises after an eviction to
// (output so far + 20 for each sequence) / all output. After a newcomer that did not fit, none is
// tried until a sequence ends.
//
// With recv_interval (SGLang's scheduler_recv_interval) the queue is read after a step that carried
// a prompt, when nothing runs, and otherwise after that many decode steps.
//
// Decodes: all running sequences, each with its drafts. If blocks lack, the sequence with the least
// output so far is evicted, among equals the one with the longest prompt, until there are enough.
// It waits at the head of the queue.
//
// If layers with a sliding window have a pool of their own (orrery/memory/kv_groups.h), a newcomer
// also needs room there for its first chunk, or for a window if that is more, and one block. A
// chunk of a prompt that was begun is cut to the free room. Decodes are evicted until both pools
// suffice.
//
// SGLang's prefix cache is a radix tree with LRU leaves. Here blocks are known by their hashes and
// reused from the end of a prefix towards its beginning, which finds the same prefixes in whole
// blocks. Not modelled: holding back requests that share a prefix with one in the same batch.
#include <algorithm>
#include <limits>

#include "orrery/base/error.h"
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace {

// sglang/srt/managers/schedule_policy.py, server_args.py, schedule_batch.py.
constexpr std::size_t kMostSorted = 128;
constexpr std::int64_t kMostOutput = 4096;
constexpr double kFirstShare = 0.7, kLeastShare = 0.14 * kFirstShare;
constexpr double kDecay = (kFirstShare - kLeastShare) / 600;
constexpr double kTokensAhead = 20;

struct SglangParameters {
  bool mixed_chunk = false;  // steps that carry prompts also carry decodes
  // A step takes prompts until they have used up this many tokens (max-prefill-tokens). The last
  // may exceed it; without chunked prefill only the first may. 0: no limit.
  std::int64_t max_prefill_tokens = 0;
  // Number of decode steps after which the queue is read, if no step carried a prompt.
  std::int64_t recv_interval = 1;

  void declare(Fields& f) {
    f.add("mixed_chunk", mixed_chunk, "SGLang: steps with prompts also carry decodes")
        .alias("enable_mixed_chunk");
    f.add("max_prefill_tokens", max_prefill_tokens,
          "SGLang: a step takes prompts until they have used up this many tokens; 0: no limit")
        .unit("tokens")
        .range(0, 1e7);
    f.add("recv_interval", recv_interval, "SGLang: decode steps between two looks at the queue")
        .alias("scheduler_recv_interval")
        .range(1, 1e6);
  }
};

class Sglang : public Scheduler {
 public:
  explicit Sglang(const SchedulerSetup& setup)
      : parameters_(setup.profile.own.of<SglangParameters>()),
        chunked_(setup.profile.chunked_prefill),
        ranks_(setup.ranks) {}

  void plan(EngineState& engine, StepPlan& plan) override {
    const auto running = engine.queues.running.size();
    if (running == 0) share_ = kFirstShare;
    if (running < full_at_) full_at_ = 0;
    budget_ = engine.limits().max_num_batched_tokens;
    const std::int64_t most = parameters_.max_prefill_tokens;
    prompt_budget_ = most > 0 ? most : std::numeric_limits<std::int64_t>::max() / 2;
    receive(engine);
    if (parameters_.mixed_chunk) {
      plan_decodes(engine, plan);
      const std::size_t decodes = plan.work.size();
      prompt_budget_ -= static_cast<std::int64_t>(decodes);
      if (plan.evicted.empty()) plan_prompts(engine, plan);
      prompted_ = plan.work.size() > decodes;
      return;
    }
    plan_prompts(engine, plan);
    if (plan.work.empty()) {
      plan_decodes(engine, plan);
      return;
    }
    prompted_ = true;
    for (Slot slot : engine.queues.running) {
      if (engine.at(slot).decodes() && engine.at(slot).wanted() > 0) plan.stalled.push_back(slot);
    }
  }

  bool prompts_alone() const override { return !parameters_.mixed_chunk; }

  std::int64_t prompts_in_step(std::int64_t fitting, std::int64_t tokens) const override {
    const std::int64_t most = parameters_.max_prefill_tokens * ranks_;
    if (most == 0) return fitting;
    return std::clamp<std::int64_t>(chunked_ ? (most + tokens - 1) / tokens : (most - 1) / tokens,
                                    1, fitting);
  }

  void check_drafts() const override {
    if (parameters_.mixed_chunk)
      throw NoData("speculation: SGLang does not combine mixed_chunk with speculative decoding");
  }

 private:
  // Decides whether the queue is read before this step.
  void receive(const EngineState& engine) {
    received_ = prompted_ || engine.queues.running.empty() || decoded_ >= parameters_.recv_interval;
    prompted_ = false;
    if (received_) decoded_ = 0;
  }

  void plan_prompts(EngineState& engine, StepPlan& plan) {
    const std::size_t decodes = plan.work.size();
    for (Slot slot : engine.queues.running) {
      Sequence& s = engine.at(slot);
      if (s.decodes() || budget_ <= 0) continue;
      const std::int64_t n = window_room(engine, s, std::min<std::int64_t>(s.wanted(), budget_));
      if (n == 0) continue;
      engine.kv.grow(s, static_cast<std::int32_t>(n));
      plan.work.push_back({slot, static_cast<std::int32_t>(n)});
      budget_ -= n, prompt_budget_ -= n;
    }
    if (engine.queues.waiting.empty() || full_at_ > 0 || !received_) return;
    order_by_prefix(engine);
    admit(engine, plan, plan.work.size() == decodes);
  }

  // Number of the next `tokens` tokens of a prompt for which the pool of windowed layers has room.
  static std::int64_t window_room(EngineState& engine, Sequence& s, std::int64_t tokens) {
    const BlockPool* pool = engine.kv.window_pool();
    if (!pool) return tokens;
    engine.kv.skip(s, s.computed);
    const std::int64_t rows = pool->free() + s.window_rows;
    return std::clamp<std::int64_t>(rows * engine.kv.block_size() - s.computed, 0, tokens);
  }

  // Whether that pool has room for a newcomer's first chunk of `tokens` tokens and for its decodes.
  static bool window_takes(const EngineState& engine, std::int64_t tokens, bool alone) {
    if (!engine.kv.window_pool()) return true;
    const std::int64_t least =
        alone ? tokens : std::max<std::int64_t>(tokens, engine.kv.groups().window);
    return KvGroups::rows(least, engine.kv.block_size()) + (alone ? 0 : 1) <=
           engine.kv.window_free();
  }

  void order_by_prefix(EngineState& engine) {
    auto& waiting = engine.queues.waiting;
    if (!engine.kv.pool().caching() || engine.queues.order() != QueueOrder::kLpm ||
        waiting.size() > kMostSorted || waiting.size() < 2)
      return;
    by_prefix_.clear();
    for (Slot slot : waiting)
      by_prefix_.push_back({engine.kv.cached_prefix(engine.at(slot)), slot});
    std::stable_sort(by_prefix_.begin(), by_prefix_.end(),
                     [](const Prefix& a, const Prefix& b) { return a.tokens > b.tokens; });
    std::transform(by_prefix_.begin(), by_prefix_.end(), waiting.begin(),
                   [](const Prefix& p) { return p.slot; });
  }

  static std::int64_t output_left(const Sequence& s) {
    return std::min<std::int64_t>(s.target - s.tokens, kMostOutput);
  }

  // `first`: the step carries no prompt yet.
  void admit(EngineState& engine, StepPlan& plan, bool first) {
    const EngineProfile::Scheduler& l = engine.limits();
    const std::int64_t block = engine.kv.block_size();
    double expected = 0;  // tokens by which running sequences are expected to grow
    for (Slot slot : engine.queues.running)
      expected += share_ * static_cast<double>(output_left(engine.at(slot)));
    while (!engine.queues.waiting.empty() && budget_ > 0 && prompt_budget_ > 0) {
      Sequence& s = engine.at(engine.queues.waiting.front());
      const std::int32_t cached = engine.kv.cached_prefix(s), wanted = s.tokens - cached;
      const std::int64_t free = engine.kv.free_after_prefix();
      const bool alone = engine.queues.running.empty();
      // Tokens that the cache holds in host memory need room as well.
      const std::int64_t held = s.tokens - engine.kv.prefix_blocks() * block;
      const double room = static_cast<double>(free * block) - expected;
      const std::int64_t chunk =
          l.chunked_prefill ? std::min<std::int64_t>(wanted, budget_) : wanted;
      if (static_cast<std::int64_t>(engine.queues.running.size()) >= l.max_num_seqs ||
          !window_takes(engine, chunk, alone) ||
          engine.kv.blocks_for(s.tokens) - engine.kv.prefix_blocks() > free ||
          (!alone && static_cast<double>(held + output_left(s)) >= room)) {
        full_at_ = engine.queues.running.size();
        return;
      }
      if (!first && !l.chunked_prefill && wanted >= prompt_budget_) return;
      std::int64_t n = wanted;
      if (n > budget_) {
        if (l.chunked_prefill) {
          n = budget_;
        } else if (!plan.work.empty()) {
          return;
        }
      }
      plan.work.push_back(
          {engine.admit(static_cast<std::int32_t>(n)), static_cast<std::int32_t>(n)});
      engine.kv.reserve(s, s.tokens);
      expected += static_cast<double>(output_left(s));
      budget_ -= n, prompt_budget_ -= n;
      first = false;
    }
  }

  void plan_decodes(EngineState& engine, StepPlan& plan) {
    auto& running = engine.queues.running;
    while (running.size() > 1 && lacks_blocks(engine)) retract(engine, plan);
    for (Slot slot : running) {
      Sequence& s = engine.at(slot);
      if (!s.decodes() || s.wanted() == 0) continue;
      const std::int32_t n = s.wanted();
      engine.kv.grow(s, n);
      plan.work.push_back({slot, n});
      budget_ -= n;
    }
    share_ = std::max(share_ - kDecay, kLeastShare);
    ++decoded_;
  }

  static bool lacks_blocks(const EngineState& engine) {
    std::int64_t n = 0, of_window = 0;
    for (Slot slot : engine.queues.running) {
      const Sequence& s = engine.at(slot);
      if (!s.decodes() || s.wanted() == 0) continue;
      n += engine.kv.blocks_for(s.computed + s.wanted()) - engine.kv.blocks_of(s);
      if (engine.kv.window_pool()) of_window += engine.kv.window_needed(s, s.computed + s.wanted());
    }
    return n > engine.kv.pool().free() ||
           (engine.kv.window_pool() && of_window > engine.kv.window_pool()->free());
  }

  void retract(EngineState& engine, StepPlan& plan) {
    const auto& running = engine.queues.running;
    const auto least = std::min_element(running.begin(), running.end(), [&](Slot a, Slot b) {
      const Sequence &x = engine.at(a), &y = engine.at(b);
      const std::int32_t m = x.tokens - x.prompt, n = y.tokens - y.prompt;
      return m != n ? m < n : x.prompt > y.prompt;
    });
    engine.evict_running(static_cast<std::size_t>(least - running.begin()), plan.evicted);
    double made = 0, all = 0;
    for (Slot slot : running) {
      const Sequence& s = engine.at(slot);
      made += s.tokens - s.prompt + kTokensAhead;
      all += s.target - s.prompt;
    }
    share_ = std::min(1.0, made / all);
    full_at_ = 0;
  }

  struct Prefix {
    std::int32_t tokens;
    Slot slot;
  };
  const SglangParameters parameters_;
  const bool chunked_;        // prompts are computed in chunks
  const std::int64_t ranks_;  // of attention data parallelism
  std::vector<Prefix> by_prefix_;
  double share_ = kFirstShare;
  std::size_t full_at_ =
      0;  // number of running sequences when a newcomer did not fit; 0: none did not
  std::int64_t budget_ = 0, prompt_budget_ = 0;
  std::int64_t decoded_ = 0;  // decode steps since newcomers were last looked for
  bool prompted_ = true;      // the step before carried a prompt
  bool received_ = true;
};

}  // namespace

void declare_sglang(Fields& f, OwnParameters& own) { own.of<SglangParameters>().declare(f); }
std::unique_ptr<Scheduler> make_sglang(const SchedulerSetup& setup) {
  return std::make_unique<Sglang>(setup);
}

}  // namespace orrery
