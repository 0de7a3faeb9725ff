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
      state_(config.limits, config.kv_blocks, config.prefix_caching, load) {}

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
    s.computed += w.new_tokens;
    const bool caught_up = s.computed == s.tokens;
    if (w.new_tokens == 1 && past > 0) {
      ++shape.decodes;
      shape.decode_past += past;
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
    ++s.tokens;
    step.tokens.push_back(w.slot);
  }
  shape.chunks = chunks_;
  step.decode_only = chunks_.empty();
  step.duration = timer_.time(shape);
  return true;
}

void Replica::start(Step& step, SimTime now) {
  step.end = now + step.duration;
  ++counts_.steps;
  counts_.decode_steps += step.decode_only;
  counts_.busy += step.duration;
  counts_.used_block_seconds +=
      step.duration.seconds() * static_cast<double>(state_.pool().size() - state_.pool().free());
}

void Replica::end_step() {
  Step& step = steps_[first_];
  const SimTime now = step.end;
  first_ = 1 - first_;
  --count_;
  asked_ = false;
  counts_.output_tokens += static_cast<std::int64_t>(step.tokens.size());
  for (Slot slot : step.tokens) {
    Sequence& s = state_.at(slot);
    observer_.token(s.request, now, s.last_token, s.last_token.ps == 0);
    s.last_token = now;
    if (++s.made == s.target - s.prompt) finish(slot, now);
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
