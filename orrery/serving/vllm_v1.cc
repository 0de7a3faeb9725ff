// vLLM V1's scheduler (version 0.19; numbers are those of its source's order of work):
//
// One token budget a step. Running sequences come first, in their order, each with what it still
// has to compute: a decode 1, an unfinished prompt a chunk. Where blocks lack, the last of the
// running (first come, first served) or the one of lowest priority gives up its own and is
// computed again later. Newcomers are taken only in a step without evictions, in order, while
// budget, max_num_seqs and free blocks last; the first that does not fit stops the rest. One whose
// adapter would be more than max_loras is passed over.
#include <algorithm>

#include "orrery/serving/adapters.h"
#include "orrery/serving/scheduler.h"

namespace orrery {
namespace {

class VllmV1 : public Scheduler {
 public:
  void plan(EngineState& engine, StepPlan& plan) override {
    budget_ = engine.limits().max_num_batched_tokens;
    plan_running(engine, plan);
    if (plan.evicted.empty()) admit(engine, plan);
  }

 private:
  std::int32_t share(const EngineState& engine, const Sequence& s, std::int32_t wanted) const {
    const SchedulerLimits& l = engine.limits();
    std::int64_t n = std::min<std::int64_t>(wanted, budget_);
    if (l.long_prefill_token_threshold > 0) n = std::min(n, l.long_prefill_token_threshold);
    if (l.max_model_len > 0) n = std::min(n, l.max_model_len - 1 - s.computed);
    return static_cast<std::int32_t>(std::max<std::int64_t>(n, 0));
  }

  void plan_running(EngineState& engine, StepPlan& plan) {
    auto& running = engine.running;
    for (std::size_t i = 0; i < running.size() && budget_ > 0; ++i) {
      const Slot slot = running[i];
      const std::int32_t n = share(engine, engine.at(slot), engine.at(slot).wanted());
      if (n == 0) continue;
      bool evicted_itself = false;
      while (!evicted_itself && !engine.grow(engine.at(slot), n)) {
        const std::size_t at = victim(engine);
        const Slot other = running[at];
        evicted_itself = other == slot;
        if (at < i) --i;
        take_back(engine, plan, other);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        engine.evict(other);
        plan.evicted.push_back(other);
      }
      if (evicted_itself) break;
      plan.work.push_back({slot, n});
      budget_ -= n;
    }
  }

  // Whose blocks go first; index in running.
  static std::size_t victim(const EngineState& engine) {
    const auto& running = engine.running;
    if (!engine.limits().priority) return running.size() - 1;
    std::size_t worst = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      const Sequence &a = engine.at(running[i]), &b = engine.at(running[worst]);
      if (a.priority > b.priority || (a.priority == b.priority && a.arrival >= b.arrival))
        worst = i;
    }
    return worst;
  }

  // One that was planned in this step already gives its tokens back to the budget.
  void take_back(const EngineState&, StepPlan& plan, Slot slot) {
    const auto at = std::find_if(plan.work.begin(), plan.work.end(),
                                 [slot](const Work& w) { return w.slot == slot; });
    if (at == plan.work.end()) return;
    budget_ += at->new_tokens;
    plan.work.erase(at);
  }

  void admit(EngineState& engine, StepPlan& plan) {
    const SchedulerLimits& l = engine.limits();
    if (l.max_loras > 0) gather_adapters(engine);
    while (!engine.waiting.empty() && budget_ > 0 &&
           static_cast<std::int64_t>(engine.running.size()) < l.max_num_seqs) {
      const Slot slot = engine.waiting.front();
      Sequence& s = engine.at(slot);
      if (l.max_loras > 0 && !adapter_fits(s, l)) {
        engine.waiting.pop_front();
        passed_over_.push_back(slot);
        continue;
      }
      const std::int32_t cached = engine.cached_prefix(s);
      const std::int32_t wanted = s.tokens - cached;
      if (!l.chunked_prefill && wanted > budget_) break;
      std::int64_t n = std::min<std::int64_t>(wanted, budget_);
      if (l.long_prefill_token_threshold > 0) n = std::min(n, l.long_prefill_token_threshold);
      const std::int64_t needed =
          engine.blocks_for(l.reserve_full ? std::int64_t{s.tokens} : cached + n) -
          engine.prefix_blocks();
      if (needed > engine.free_beside_prefix()) break;
      engine.take_prefix(s);
      if (!engine.grow(s, static_cast<std::int32_t>(n))) break;  // no hole for its extent
      engine.waiting.pop_front();
      engine.running.push_back(slot);
      adapters_.add(s.adapter);
      plan.work.push_back({slot, static_cast<std::int32_t>(n)});
      budget_ -= n;
    }
    engine.waiting.insert(engine.waiting.begin(), passed_over_.begin(), passed_over_.end());
    passed_over_.clear();
  }

  void gather_adapters(const EngineState& engine) {
    adapters_.clear();
    for (Slot slot : engine.running) adapters_.add(engine.at(slot).adapter);
  }
  bool adapter_fits(const Sequence& s, const SchedulerLimits& l) const {
    return s.adapter < 0 || adapters_.size() < l.max_loras || adapters_.has(s.adapter);
  }

  std::int64_t budget_ = 0;
  AdapterSet adapters_;  // of the running
  std::vector<Slot> passed_over_;
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_v1() { return std::make_unique<VllmV1>(); }

}  // namespace orrery
