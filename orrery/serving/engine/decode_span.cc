// Spans of decode steps: what every step of them changes, without asking the scheduler.
#include <algorithm>
#include <array>

#include "orrery/serving/engine/engine.h"

namespace orrery {

namespace {

// The sums that a replica takes over the time of its steps.
class Integrals {
 public:
  Integrals(ReplicaCounts& sums, const EngineState& state, bool ahead)
      : sums_(sums),
        state_(state),
        lost_(static_cast<double>(state.decode_group.size() * state.kv.groups().count())),
        ahead_(ahead) {
    look();
  }

  // Consecutive steps, each of which plans one that takes no blocks. What they hold is that before
  // the plan (`ahead`), or after it.
  void add(std::span<const SimTime> times) {
    double busy = sums_.busy.value(), used = sums_.used_block_seconds,
           slack = sums_.slack_token_seconds, stranded = sums_.stranded_block_seconds;
    if (!ahead_) slack_ -= lost_;
    for (const SimTime t : times) {
      const double seconds = t.seconds();
      busy += seconds;
      used += seconds * used_;
      slack += seconds * slack_;
      stranded += seconds * stranded_;
      slack_ -= lost_;
    }
    if (!ahead_) slack_ += lost_;
    sums_.busy = Seconds(busy);
    sums_.used_block_seconds = used;
    sums_.slack_token_seconds = slack;
    sums_.stranded_block_seconds = stranded;
  }
  // A step that takes blocks and holds what look() has found since.
  void add_grown(std::span<const SimTime> step) {
    slack_ += lost_;
    add(step);
  }
  // Finds what is held. Called when a plan has taken blocks.
  void look() {
    const BlockPool& pool = state_.kv.pool();
    used_ = static_cast<double>(pool.size() - pool.free());
    slack_ = static_cast<double>(state_.slack());
    stranded_ = static_cast<double>(state_.kv.stranded());
  }

 private:
  ReplicaCounts& sums_;
  const EngineState& state_;
  double used_ = 0, slack_ = 0, stranded_ = 0;  // whole numbers
  double lost_;                                 // slack that a step takes
  bool ahead_;
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
  std::array<SimTime, kMostSpan + 1> ends;
  std::size_t n = 0;
  ends[0] = now;
  for (; n < times.size() && ends[n] < limit; ++n) ends[n + 1] = ends[n] + times[n];
  Integrals integrals(counts_, state_, config_.async);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t alike = group.steps_without_blocks(n - i);
    integrals.add(times.subspan(i, alike));
    group.plan_even(static_cast<std::int64_t>(alike));
    i += alike;
    if (i == n) break;
    if (group.blocks_needed(state_) > state_.kv.pool().free()) {
      n = i;
      break;
    }
    if (config_.async) integrals.add(times.subspan(i, 1));
    group.grow(state_);
    group.plan_even(1);
    integrals.look();
    if (!config_.async) integrals.add_grown(times.subspan(i, 1));
  }
  now = ends[n];
  const std::int64_t sequences = group.size();
  std::array<SimTime, kMostSpan> delivered;
  delivery.deliver({ends.data(), n}, sequences, delivered.data());
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
    // The steps that end before the limit, if each takes as long as the last one did.
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
