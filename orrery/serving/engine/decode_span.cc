// Spans of decode steps: what every step of them changes, without asking the scheduler.
#include <algorithm>
#include <array>

#include "orrery/serving/engine/engine.h"

namespace orrery {

namespace {

// What a replica's integrals sum over the time of a step.
struct Integrands {
  explicit Integrands(const EngineState& state)
      : used(state.kv.pool().size() - state.kv.pool().free()),
        slack(state.slack()),
        stranded(state.kv.stranded()),
        lost(state.decode_group.size() * state.kv.groups().count()) {}

  void add(SimTime duration, ReplicaCounts& sum) const {
    const double seconds = duration.seconds();
    sum.busy += duration.time();
    sum.used_block_seconds += seconds * static_cast<double>(used);
    sum.slack_token_seconds += seconds * static_cast<double>(slack);
    sum.stranded_block_seconds += seconds * static_cast<double>(stranded);
  }

  std::int64_t used, slack, stranded;
  std::int64_t lost;  // slack that a step of the decode group takes, where it takes no blocks
};

}  // namespace

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

std::size_t Replica::go_on(SimTime& now, std::span<const SimTime> times, SimTime limit,
                           FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const std::int64_t sequences = group.size();
  std::array<SimTime, kMostSpan> delivered;
  // Copies, which stay in registers.
  FrontEndDelivery out = delivery;
  ReplicaCounts sum = counts_;
  SimTime end = now;
  Integrands held(state_);
  const auto plan = [&] {
    const bool grows = group.needs_blocks();
    if (grows) group.grow(state_);
    group.plan_even();
    if (grows) {
      held = Integrands(state_);
    } else {
      held.slack -= held.lost;
    }
  };
  std::size_t n = 0;
  for (; n < times.size() && end < limit; ++n) {
    if (group.needs_blocks() && group.blocks_needed(state_) > state_.kv.pool().free()) break;
    delivered[n] = out.deliver(end, sequences, 0);
    if (!config_.async) plan();
    held.add(times[n], sum);
    if (config_.async) plan();
    end += times[n];
  }
  now = end;
  delivery = out;
  counts_.busy = sum.busy;
  counts_.used_block_seconds = sum.used_block_seconds;
  counts_.slack_token_seconds = sum.slack_token_seconds;
  counts_.stranded_block_seconds = sum.stranded_block_seconds;
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
    const SimTime from = waves_.front().end;
    SimTime end = from;
    const std::size_t n = rank.go_on(end, asked, limit, deliveries_.front());
    if (windows_) windows_->add_decodes(sequences, past, from, asked.first(n));
    pace_ = asked[n - 1];
    entered_ = end - pace_;
    last_end_ = waves_.front().end = end;
    busy_ += end - from;
    held_ = 0;
    steps_ += static_cast<std::int64_t>(n);
    decode_steps_ += static_cast<std::int64_t>(n);
  }
}

}  // namespace orrery
