#include "orrery/serving/engine/decode_span.h"

#include <algorithm>
#include <numeric>

#include "orrery/serving/engine/replica.h"

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

std::size_t DecodeSpan::begin(SimTime now, std::span<const SimTime> times, SimTime limit) {
  std::size_t n = 0;
  ends_[0] = now;
  for (SimTime end = now; n < times.size() && end < limit; ++n) ends_[n + 1] = end += times[n];
  return n;
}

std::size_t DecodeSpan::take_blocks(std::size_t n, std::span<const SimTime> times, bool async,
                                    EngineState& state, HeldTime& held_time) {
  DecodeGroup& group = state.decode_group;
  // A step holds what is held before the plan of the next one, or after its own plan. Every step
  // takes `lost` of the slack. The held slack is that of the first step, less what growing gives.
  const std::int64_t lost = group.size() * state.kv.groups().count();
  const std::size_t later = async ? 1 : 0;
  KvHeld held = kv_held(state);
  held.slack -= async ? 0 : lost;
  bool counted = group.counts(state);
  if (counted) {
    std::int64_t all = 0;
    group.each_growth(n, [&](std::size_t, std::int64_t blocks) { all += blocks; });
    counted = all <= state.kv.pool().free();
    if (counted) state.kv.take_counted(all);
  }
  if (counted) {
    held_time.add(ends_[n] - ends_[0], held);
    group.each_growth(n, [&](std::size_t i, std::int64_t blocks) {
      held_time.gain(ends_[n] - ends_[i + later], blocks, blocks * state.kv.block_size());
    });
    group.plan_even(static_cast<std::int64_t>(n));
  }
  for (std::size_t i = 0; i < n && !counted; ++i) {
    const std::size_t first = i;
    i += group.steps_without_blocks(n - i);
    group.plan_even(static_cast<std::int64_t>(i - first));
    if (i < n && group.blocks_needed(state) > state.kv.pool().free()) n = i;
    const std::size_t alike = i < n ? i + later : i;
    held_time.add(ends_[alike] - ends_[first], held);
    if (i == n) break;
    group.grow(state);
    group.plan_even(1);
    held = kv_held(state);
    held.slack += lost * static_cast<std::int64_t>(i + later);
    if (!async) held_time.add(times[i], held);
  }
  held_time.lose_slack({ends_.data(), n + 1}, lost);
  return n;
}

SimTime DecodeSpan::deliver(std::size_t n, std::span<const SimTime> times, const Replica& from,
                            FrontEndDelivery& delivery, ReplicaObserver& observer) {
  const DecodeGroup& group = from.state().decode_group;
  const std::int64_t sequences = group.size();
  const SimTime before = group.last_end();
  // The steps end as far apart as each of those after the first takes.
  const TokenGaps gaps = gaps_of(times.first(n - 1), ends_[n - 1] - ends_[0]);
  if (delivery.waits(ends_[0], sequences, gaps.least)) {
    const SimTime last = delivery.deliver(ends_[n - 1], sequences, 0);
    observer.tokens_of(from, sequences, last - gaps.sum, before, gaps);
    return last;
  }
  delivery.deliver({ends_.data(), n}, sequences, gaps_.data());
  const SimTime first = gaps_[0], last = gaps_[n - 1];
  std::adjacent_difference(gaps_.begin(), gaps_.begin() + static_cast<std::ptrdiff_t>(n),
                           gaps_.begin());
  observer.tokens_of(from, sequences, first, before,
                     gaps_of({gaps_.data() + 1, n - 1}, last - first));
  return last;
}

}  // namespace orrery
