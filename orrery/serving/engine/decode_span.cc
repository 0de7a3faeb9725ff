// Spans of decode steps: what every step of them changes, without asking the scheduler.
#include <algorithm>
#include <array>

#include "orrery/serving/engine/engine.h"

namespace orrery {

bool Replica::even(const Step& step) const {
  return step.group == state_.decode_group.size() && step.tokens.empty() && step.chunks.empty();
}

Replica::DecodeSpan Replica::span() const {
  const DecodeGroup& group = state_.decode_group;
  // An asynchronous engine starts the step that is planned, and plans those after it.
  const std::size_t known = config_.async ? 2 : 1;
  if (config_.stages > 1 || count_ != known || started_ != 1) return {};
  if (!state_.queues.waiting.empty() && disturbed_) return {};
  if (!resumed_.empty() && running() < config_.limits.max_num_seqs) return {};
  for (std::size_t i = 0; i < known; ++i) {
    if (!even(under_way(i))) return {};
  }
  if (!scheduler_->repeats(state_) || group.blocks_needed(state_) > state_.kv.pool().free())
    return {};
  return {group.even_steps(), group.size(), group.past() - (config_.async ? group.size() : 0)};
}

std::size_t Replica::go_on(SimTime now, std::span<const SimTime> times, SimTime limit,
                           FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const BlockPool& pool = state_.kv.pool();
  const std::int64_t sequences = group.size();
  std::array<SimTime, kMostSpan> delivered;
  std::size_t n = 0;
  const auto plan = [&] {
    group.grow(state_);
    group.plan_even();
  };
  for (; n < times.size() && now < limit && group.blocks_needed(state_) <= pool.free(); ++n) {
    delivered[n] = delivery.deliver(now, sequences, 0);
    if (!config_.async) plan();
    count_time(times[n]);
    if (config_.async) plan();
    now += times[n];
  }
  observer_.tokens_of(*this, sequences, {delivered.data(), n}, group.last_end());
  const auto steps = static_cast<std::int64_t>(n);
  group.end(delivered[n - 1], steps);
  counts_.steps += steps;
  counts_.decode_steps += steps;
  counts_.sequence_steps += sequences * steps;
  counts_.output_tokens += sequences * steps;
  for (std::size_t i = 0; i < count_; ++i) under_way(i).shape.decode_past += sequences * steps;
  return n;
}

void Engine::go_on(SimTime limit) {
  if (ranks_.size() > 1 || config_.stages > 1 || log_ != nullptr) return;
  Replica& rank = ranks_.front();
  std::array<SimTime, Replica::kMostSpan> times;
  while (!waves_.empty() && waves_.front().end < limit) {
    const auto [steps, sequences, past] = rank.span();
    if (steps == 0) return;
    // As many as end before the limit, if they take as long as the running one.
    std::int64_t most = std::min<std::int64_t>(steps, Replica::kMostSpan);
    if (limit != kNever && pace_.ps > 0)
      most = std::min(most, (limit - waves_.front().end).ps / pace_.ps + 1);
    std::span<SimTime> asked(times.data(), static_cast<std::size_t>(most));
    asked = asked.first(timer_.decode_times(sequences, past, asked));
    SimTime end = waves_.front().end;
    const std::size_t n = rank.go_on(end, asked, limit, deliveries_.front());
    const std::span<const SimTime> gone(times.data(), n);
    if (windows_) windows_->add_decodes(sequences, past, end, gone);
    for (const SimTime t : gone) {
      entered_ = end;
      end += t;
      busy_ += t;
    }
    pace_ = gone.back();
    last_end_ = waves_.front().end = end;
    held_ = 0;
    steps_ += static_cast<std::int64_t>(n);
    decode_steps_ += static_cast<std::int64_t>(n);
  }
}

}  // namespace orrery
