// vLLM V1's scheduler (version 0.19).
//
// One token budget a step, no phases. Running sequences come first, in their order, each with what
// it still has to compute: a decode 1, an unfinished prompt a chunk; one with nothing to compute is
// skipped. Where blocks lack, the last of the running (first come, first served; shortest first) or
// the one of the highest priority number, latest arrived, gives up its blocks, and its budget if it
// was planned in this step already; it is computed again later. If that was the sequence that
// needed blocks, the others behind it wait for the next step. Newcomers are taken only in a step
// without evictions, in order, while budget, max_num_seqs and free blocks last; the first that does
// not fit stops the rest, and none evicts. One whose adapter would be more than adapter_slots is
// passed over.
//
// Beyond this file: paged blocks, hashes, the order in which blocks are reused (block_pool.h);
// placeholders of asynchronous scheduling (replica.h); graph padding and host time (the step room).
// A prompt longer than the budget though chunking is off (vLLM refuses to start so) is computed
// whole, alone among newcomers.
//
// Where layers have sliding windows (orrery/memory/kv_groups.h) a sequence gives the blocks that
// are outside of them back before it gets new ones, also when it then gets none; and a newcomer
// needs room for no more of a windowed group than it can hold at once.
//
// Left out: structured output and encoder inputs, the null block (one of the pool), and that vLLM
// skips a sequence for one step when one before it that had nothing to compute is evicted.
#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"
#include "orrery/serving/state/adapters.h"

namespace orrery {
namespace {

struct VllmV1Parameters {
  std::int64_t long_prefill_token_threshold = 0;  // most tokens of one prompt a step; 0: no limit

  void declare(Fields& f) {
    f.add("long_prefill_token_threshold", long_prefill_token_threshold,
          "most tokens of one prompt in a step; 0: no limit")
        .unit("tokens")
        .range(0, 1e7);
  }
};

class VllmV1 : public Scheduler {
 public:
  explicit VllmV1(const VllmV1Parameters& parameters) : parameters_(parameters) {}

  void plan(EngineState& engine, StepPlan& plan) override {
    budget_ = engine.limits().max_num_batched_tokens;
    if (!plan_group(engine, plan)) plan_running(engine, plan);
    held_back_ = false;
    if (plan.evicted.empty()) admit(engine, plan);
  }

  bool repeats(const EngineState& engine) const override {
    const DecodeGroup& group = engine.decode_group;
    return group.even_steps() > 0 && group.size() <= engine.limits().max_num_batched_tokens &&
           !engine.kv.windowed() && (engine.queues.waiting.empty() || held_back_);
  }

 private:
  std::int64_t chunk(std::int64_t wanted) const {
    const std::int64_t most = parameters_.long_prefill_token_threshold;
    return most > 0 ? std::min(wanted, most) : wanted;
  }

  // The ordinary step, in which the budget suffices for all running sequences but the last. Members
  // of the decode group are then not visited. False if the step is another.
  bool plan_group(EngineState& engine, StepPlan& plan) {
    DecodeGroup& group = engine.decode_group;
    if (!group.take_in(engine)) return false;
    std::int64_t budget = budget_ - group.size(), blocks = group.blocks_needed(engine);
    bool enough = budget >= 0;
    for (std::size_t i = 0; enough && i < group.others().size(); ++i) {
      const Slot slot = group.others()[i];
      const Sequence& s = engine.at(slot);
      const std::int64_t wanted = chunk(s.wanted()), n = std::min(wanted, budget);
      enough = n == wanted || group.all_before(s);
      if (n == 0) break;
      const std::int64_t needed = engine.kv.blocks_for(s.computed + n);
      blocks += std::max<std::int64_t>(0, needed - engine.kv.blocks_of(s));
      plan.work.push_back({slot, static_cast<std::int32_t>(n)});
      budget -= n;
    }
    const bool lacking = blocks > engine.kv.pool().free();
    if (!enough || (lacking && !evicts_last(engine))) {
      plan.work.clear();
      group.dissolve(engine);
      return false;
    }
    if (lacking) make_room(engine, plan);
    if (engine.kv.windowed()) give_back(engine, plan);
    group.grow(engine);
    for (const Work& w : plan.work) engine.kv.grow(engine.at(w.slot), w.new_tokens);
    plan.decode_group = group.size() > 0;
    budget_ = budget;
    return true;
  }

  // Whether those that are evicted are the last of the running, whoever needs blocks: then they are
  // the same for the needs of all together.
  static bool evicts_last(const EngineState& engine) {
    return engine.queues.order() != QueueOrder::kPriority && !engine.kv.windowed();
  }

  // Evicts the last of the running until blocks suffice for the decode group and the work.
  static void make_room(EngineState& engine, StepPlan& plan) {
    DecodeGroup& group = engine.decode_group;
    group.strain();
    const auto needed = [&] {
      std::int64_t blocks = group.blocks_taken(engine);
      for (const Work& w : plan.work) {
        const Sequence& s = engine.at(w.slot);
        blocks += std::max<std::int64_t>(
            0, engine.kv.blocks_for(s.computed + w.new_tokens) - engine.kv.blocks_of(s));
      }
      return blocks;
    };
    while (needed() > engine.kv.pool().free()) {
      const Slot last = engine.queues.running.back();
      if (engine.at(last).joined >= 0) {
        group.evict(engine, last);
      } else {
        group.end_other(last);
        std::erase_if(plan.work, [last](const Work& w) { return w.slot == last; });
      }
      engine.evict_running(engine.queues.running.size() - 1, plan.evicted);
    }
  }

  // Gives back blocks outside of windows, sequence by sequence in the order in which they run.
  void give_back(EngineState& engine, const StepPlan& plan) {
    skipping_.clear();
    engine.decode_group.list_skipping(engine, skipping_);
    for (const Work& w : plan.work) skipping_.push_back(w.slot);
    std::sort(skipping_.begin(), skipping_.end(),
              [&](Slot a, Slot b) { return engine.at(a).ticket < engine.at(b).ticket; });
    for (Slot slot : skipping_)
      engine.kv.skip(engine.at(slot), engine.decode_group.computed(engine.at(slot)));
  }

  void plan_running(EngineState& engine, StepPlan& plan) {
    auto& running = engine.queues.running;
    for (std::size_t i = 0; i < running.size() && budget_ > 0; ++i) {
      const Slot slot = running[i];
      const auto n = static_cast<std::int32_t>(std::min(chunk(engine.at(slot).wanted()), budget_));
      if (n == 0) continue;
      bool evicted_itself = false;
      while (!evicted_itself && !engine.kv.grow(engine.at(slot), n)) {
        const std::size_t at = victim(engine);
        evicted_itself = at == i;
        if (at < i) {
          --i;
          take_back(plan, running[at]);
        }
        engine.evict_running(at, plan.evicted);
      }
      if (evicted_itself) break;
      plan.work.push_back({slot, n});
      budget_ -= n;
    }
  }

  // Index in `running` of the sequence that is evicted first.
  static std::size_t victim(const EngineState& engine) {
    const auto& running = engine.queues.running;
    if (engine.queues.order() != QueueOrder::kPriority) return running.size() - 1;
    const auto worst = std::max_element(running.begin(), running.end(), [&](Slot a, Slot b) {
      const Sequence &x = engine.at(a), &y = engine.at(b);
      return x.priority != y.priority ? x.priority < y.priority : x.request < y.request;
    });
    return static_cast<std::size_t>(worst - running.begin());
  }

  // Removes a sequence that is already planned in this step and returns its tokens to the budget.
  void take_back(StepPlan& plan, Slot slot) {
    const auto at = std::find_if(plan.work.begin(), plan.work.end(),
                                 [slot](const Work& w) { return w.slot == slot; });
    if (at == plan.work.end()) return;
    budget_ += at->new_tokens;
    plan.work.erase(at);
  }

  void admit(EngineState& engine, StepPlan& plan) {
    const EngineProfile::Scheduler& l = engine.limits();
    const std::int64_t adapters = engine.adapter_slots();
    if (adapters > 0) gather_adapters(engine);
    bool first = true;
    while (!engine.queues.waiting.empty() && budget_ > 0 &&
           static_cast<std::int64_t>(engine.queues.running.size()) < l.max_num_seqs) {
      const Slot slot = engine.queues.waiting.front();
      const Sequence& s = engine.at(slot);
      if (adapters > 0 && !adapter_fits(s, adapters)) {
        engine.queues.waiting.pop_front();
        passed_over_.push_back(slot);
        continue;
      }
      if (engine.kv.lacks_blocks(s)) break;
      const std::int32_t cached = engine.kv.cached_prefix(s);
      std::int64_t n = chunk(s.tokens - cached);
      if (l.chunked_prefill) {
        n = std::min(n, budget_);
      } else if (n > budget_ && (!first || n <= l.max_num_batched_tokens)) {
        break;
      }
      const std::int64_t free = engine.kv.free_after_prefix();
      if (engine.kv.needed_at_once(s.tokens) > free) break;
      if (engine.kv.blocks_for(cached + n) - engine.kv.prefix_blocks() > free) break;
      if (!engine.kv.place(engine.at(slot))) break;
      adapters_.add(s.adapter);
      plan.work.push_back(
          {engine.admit(static_cast<std::int32_t>(n)), static_cast<std::int32_t>(n)});
      budget_ -= n;
      first = false;
    }
    if (!passed_over_.empty()) {
      engine.queues.waiting.insert(engine.queues.waiting.begin(), passed_over_.begin(),
                                   passed_over_.end());
      passed_over_.clear();
    }
    // A later step of the same group takes blocks and gives none back, so that whoever did not fit
    // still does not. It may when less of its prefix is cached then: its first chunk keeps fewer
    // blocks, and a prompt that is not cut has a step of its own once it exceeds the budget.
    const bool alike = !engine.kv.pool().caching() || l.chunked_prefill;
    held_back_ = alike && !engine.queues.waiting.empty();
  }

  void gather_adapters(const EngineState& engine) {
    adapters_.clear();
    for (Slot slot : engine.queues.running) adapters_.add(engine.at(slot).adapter);
  }
  bool adapter_fits(const Sequence& s, std::int64_t slots) const {
    return s.adapter < 0 || adapters_.size() < slots || adapters_.has(s.adapter);
  }

  const VllmV1Parameters parameters_;
  std::int64_t budget_ = 0;
  bool held_back_ = false;  // no newcomer is admitted before something gives back blocks or leaves
  AdapterSet adapters_;     // of the running
  std::vector<Slot> passed_over_;
  std::vector<Slot> skipping_;
};

}  // namespace

void declare_vllm_v1(Fields& f, OwnParameters& own) { own.of<VllmV1Parameters>().declare(f); }
std::unique_ptr<Scheduler> make_vllm_v1(const SchedulerSetup& setup) {
  return std::make_unique<VllmV1>(setup.profile.own.of<VllmV1Parameters>());
}

}  // namespace orrery
