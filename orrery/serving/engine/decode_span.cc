// Spans of decode steps: what every step of them changes, without asking the scheduler.
#include <algorithm>
#include <array>
#include <numeric>

#include "orrery/serving/engine/engine.h"

namespace orrery {
namespace {

// `each` with their sum, the least and the most of them.
TokenGaps gaps_of(std::span<const SimTime> each, SimTime sum) {
  TokenGaps gaps{each, sum, kNever, {}};
  for (const SimTime t : each) {
    gaps.least = std::min(gaps.least, t);
    gaps.most = std::max(gaps.most, t);
  }
  return gaps;
}

}  // namespace

bool Replica::even(const Step& step) const {
  return step.group == state_.decode_group.size() && !step.in_turn && step.tokens.empty() &&
         step.chunks.empty();
}

Replica::DecodeSpan Replica::span() const {
  const DecodeGroup& group = state_.decode_group;
  // An asynchronous engine starts the step that is planned, and plans those after it.
  const std::size_t known = async_ ? 2 : 1;
  if (stages_ > 1 || count_ != known || started_ != 1) return {};
  if (!state_.queues.waiting.empty() && disturbed_) return {};
  if (!resumed_.empty() && running() < state_.limits().max_num_seqs) return {};
  for (std::size_t i = 0; i < known; ++i) {
    if (!even(under_way(i))) return {};
  }
  if (!scheduler_->repeats(state_) || group.blocks_needed(state_) > state_.kv.pool().free())
    return {};
  return {group.even_steps(), group.size(), group.past() - (async_ ? group.size() : 0)};
}

std::size_t Replica::take_span_blocks(std::size_t n, std::span<const SimTime> times) {
  DecodeGroup& group = state_.decode_group;
  const std::array<SimTime, kMostSpan + 1>& ends = span_ends_;
  // A step holds what is held before the plan of the next one, or after its own plan. Every step
  // takes `lost` of the slack. The held slack is that of the first step, less what growing gives.
  const std::int64_t lost = group.size() * state_.kv.groups().count();
  const std::size_t later = async_ ? 1 : 0;
  KvHeld held = holding();
  held.slack -= async_ ? 0 : lost;
  bool counted = group.counts(state_);
  if (counted) {
    std::int64_t all = 0;
    group.each_growth(n, [&](std::size_t, std::int64_t blocks) { all += blocks; });
    counted = all <= state_.kv.pool().free();
    if (counted) state_.kv.take_counted(all);
  }
  if (counted) {
    held_time_.add(ends[n] - ends[0], held);
    group.each_growth(n, [&](std::size_t i, std::int64_t blocks) {
      held_time_.gain(ends[n] - ends[i + later], blocks, blocks * state_.kv.block_size());
    });
    group.plan_even(static_cast<std::int64_t>(n));
  }
  for (std::size_t i = 0; i < n && !counted; ++i) {
    const std::size_t first = i;
    i += group.steps_without_blocks(n - i);
    group.plan_even(static_cast<std::int64_t>(i - first));
    if (i < n && group.blocks_needed(state_) > state_.kv.pool().free()) n = i;
    const std::size_t alike = i < n ? i + later : i;
    held_time_.add(ends[alike] - ends[first], held);
    if (i == n) break;
    group.grow(state_);
    group.plan_even(1);
    held = holding();
    held.slack += lost * static_cast<std::int64_t>(i + later);
    if (!async_) held_time_.add(times[i], held);
  }
  held_time_.lose_slack({ends.data(), n + 1}, lost);
  return n;
}

std::size_t Replica::go_on(SimTime& now, std::span<const SimTime> times, SimTime limit,
                           FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  std::array<SimTime, kMostSpan + 1>& ends = span_ends_;
  std::size_t n = 0;
  ends[0] = now;
  for (SimTime end = now; n < times.size() && end < limit; ++n) ends[n + 1] = end += times[n];
  n = take_span_blocks(n, times);
  now = ends[n];
  const std::int64_t sequences = group.size();
  const auto steps = static_cast<std::int64_t>(n);
  group.end(deliver_span(n, times, delivery), steps);
  counts_.steps += steps;
  counts_.decode_steps += steps;
  counts_.sequence_steps += sequences * steps;
  counts_.output_tokens += sequences * steps;
  for (std::size_t i = 0; i < count_; ++i) under_way(i).shape.decode_past += sequences * steps;
  return n;
}

SimTime Replica::deliver_span(std::size_t n, std::span<const SimTime> times,
                              FrontEndDelivery& delivery) {
  const std::int64_t sequences = state_.decode_group.size();
  const SimTime before = state_.decode_group.last_end();
  // The steps end as far apart as each of those after the first takes.
  const TokenGaps gaps = gaps_of(times.first(n - 1), span_ends_[n - 1] - span_ends_[0]);
  if (delivery.waits(span_ends_[0], sequences, gaps.least)) {
    const SimTime last = delivery.deliver(span_ends_[n - 1], sequences, 0);
    observer_.tokens_of(*this, sequences, last - gaps.sum, before, gaps);
    return last;
  }
  delivery.deliver({span_ends_.data(), n}, sequences, span_gaps_.data());
  const SimTime first = span_gaps_[0], last = span_gaps_[n - 1];
  std::adjacent_difference(span_gaps_.begin(), span_gaps_.begin() + static_cast<std::ptrdiff_t>(n),
                           span_gaps_.begin());
  observer_.tokens_of(*this, sequences, first, before,
                      gaps_of({span_gaps_.data() + 1, n - 1}, last - first));
  return last;
}

void Engine::go_on(SimTime limit) {
  if (ranks_.size() > 1 || stages_ > 1 || log_ != nullptr) return;
  Replica& rank = ranks_.front();
  while (!waves_.empty() && waves_.front().end < limit) {
    const auto [steps, sequences, past] = rank.span();
    if (steps == 0) return;
    // The steps that end before the limit, if each takes as long as the last one did.
    std::int64_t most = std::min<std::int64_t>(steps, Replica::kMostSpan);
    if (limit != kNever && pace_.ps > 0)
      most = std::min(most, (limit - waves_.front().end).ps / pace_.ps + 1);
    std::span<SimTime> asked(span_times_.data(), static_cast<std::size_t>(most));
    asked = asked.first(timer_.decode_times(sequences, past, asked));
    const SimTime from = waves_.front().end;
    SimTime end = from;
    const std::size_t n = rank.go_on(end, asked, limit, deliveries_.front());
    if (windows_) windows_->add_decodes(sequences, past, rank.span_ends(n));
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
