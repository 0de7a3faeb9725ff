#include "orrery/serving/replica.h"

#include <algorithm>

namespace orrery {

Replica::Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
                 const RequestLoad& load, StepTimer& timer, ReplicaObserver& observer)
    : config_(config),
      scheduler_(std::move(scheduler)),
      load_(load),
      timer_(timer),
      observer_(observer),
      state_(config.limits, config.kv_blocks, config.prefix_caching, load, config.kv),
      slots_(config.limits.max_loras) {
  if (config_.speculation.on()) acceptance_.emplace(config_.speculation);
}

void Replica::enter(std::uint32_t request) {
  state_.enter(request);
  ++outstanding_;
}

void Replica::dispatch(SimTime now) {
  const std::size_t depth = config_.async ? 2 : 1;
  while (count_ < depth) {
    Step& step = steps_[(first_ + count_) % 2];
    if (!plan(now, step)) return;
    if (count_++ == 0) start(step, now);
  }
}

void Replica::ask() {
  plan_.clear();
  scheduler_->plan(state_, plan_);
  for (Slot s : plan_.evicted) observer_.evicted(state_.at(s).request);
  for (Slot s : plan_.stalled) observer_.stalled(state_.at(s).request);
  counts_.evictions += static_cast<std::int64_t>(plan_.evicted.size());
  counts_.stalls += static_cast<std::int64_t>(plan_.stalled.size());
}

// Fills `step`; false when nothing can be computed. A plan that only evicts is followed by another,
// at once or, while a step is under way, when that has ended.
bool Replica::plan(SimTime now, Step& step) {
  if (asked_) return false;
  do {
    ask();
  } while (count_ == 0 && plan_.work.empty() && !plan_.evicted.empty());
  asked_ = count_ > 0 && plan_.work.empty();
  if (plan_.work.empty()) return false;

  StepShape shape;
  chunks_.clear();
  step.tokens.clear();
  for (const Work& w : plan_.work) {
    Sequence& s = state_.at(w.slot);
    const std::int32_t past = s.computed;
    state_.compute(s, w.new_tokens);
    const std::int32_t drafts = s.computed - s.tokens;  // below 0: not caught up
    const bool caught_up = drafts >= 0;
    if (w.new_tokens == 1 && past > 0) {
      ++shape.decodes;
      shape.decode_past += past;
    } else if (drafts > 0) {
      ++shape.verifies;
      shape.verify_tokens += w.new_tokens;
      shape.verify_past += past;
    } else {
      chunks_.push_back({w.new_tokens, past, caught_up});
    }
    if (past < s.prompt) counts_.prompt_tokens += std::min(s.prompt - past, w.new_tokens);
    if (!s.entered) {
      s.entered = true;
      const std::int32_t cached = s.found;
      counts_.cached_tokens += cached;
      observer_.scheduled(s.request, now, cached);
    }
    if (!caught_up) continue;
    step.tokens.push_back({w.slot, make_tokens(s, drafts)});
  }
  shape.chunks = chunks_;
  step.decode_only = chunks_.empty();
  SimTime loading;
  if (config_.limits.max_loras > 0) {
    loading = bring_in_adapters();
    shape.adapters = adapters_.size();
  }
  if (state_.host().on()) {
    const std::int64_t blocks = state_.fetched();
    counts_.host_fetches += blocks;
    counts_.host_keeps = state_.host().kept();
    loading.ps += config_.host_block_copy.ps * blocks;
  }
  step.duration = timer_.time(shape) + loading;
  return true;
}

SimTime Replica::bring_in_adapters() {
  adapters_.clear();
  for (const Work& w : plan_.work) adapters_.add(state_.at(w.slot).adapter);
  const std::int64_t loads = slots_.bring_in(adapters_);
  counts_.adapter_loads += loads;
  return {config_.adapter_load.ps * loads};
}

std::int32_t Replica::make_tokens(Sequence& s, std::int32_t drafts) {
  std::int32_t made = 1;
  if (acceptance_) {
    if (drafts > 0) {
      const std::int32_t accepted = acceptance_->accepted(s.request, s.tokens - s.prompt, drafts);
      ++counts_.verifications;
      counts_.drafts += drafts;
      counts_.accepted += accepted;
      made = std::min(accepted + 1, s.target - s.tokens);
    }
    // Rejected drafts are rolled back. Those to come never ask for more than the whole pool.
    state_.compute(s, s.tokens + made - 1 - s.computed);
    const std::int64_t slots = state_.pool().size() * config_.limits.block_size - (s.tokens + made);
    s.drafts = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(slots, 0, config_.speculation.verified()));
  }
  s.tokens += made;
  return made;
}

void Replica::start(Step& step, SimTime now) {
  step.end = now + step.duration;
  ++counts_.steps;
  counts_.decode_steps += step.decode_only;
  counts_.busy += step.duration;
  const double seconds = step.duration.seconds();
  counts_.used_block_seconds +=
      seconds * static_cast<double>(state_.pool().size() - state_.pool().free());
  counts_.slack_token_seconds += seconds * static_cast<double>(state_.slack());
  counts_.stranded_block_seconds += seconds * static_cast<double>(state_.stranded());
}

void Replica::end_step() {
  Step& step = steps_[first_];
  const SimTime now = step.end;
  first_ = 1 - first_;
  --count_;
  asked_ = false;
  counts_.sequence_steps += static_cast<std::int64_t>(step.tokens.size());
  for (const auto [slot, made] : step.tokens) {
    Sequence& s = state_.at(slot);
    counts_.output_tokens += made;
    observer_.token(s.request, now, s.last_token, s.last_token.ps == 0);
    s.last_token = now;
    s.made += made;
    if (s.made == s.target - s.prompt) finish(slot, now);
  }
  if (count_ > 0) start(steps_[first_], now);
}

void Replica::finish(Slot slot, SimTime now) {
  // Sequences end in about the order in which they began.
  auto& running = state_.running;
  const auto at = std::find(running.begin(), running.end(), slot);
  if (at != running.end()) {
    running.erase(at);
  } else {  // evicted while its last token was being made
    state_.waiting.erase(std::find(state_.waiting.begin(), state_.waiting.end(), slot));
  }
  observer_.finished(state_.at(slot).request, now);
  state_.leave(slot);
  --outstanding_;
}

}  // namespace orrery
