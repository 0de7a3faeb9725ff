#include "orrery/serving/state/queues.h"

#include <algorithm>

namespace orrery {

Slot Queues::make(std::uint32_t number, const Request& r, std::int32_t output) {
  Slot slot;
  if (unused_.empty()) {
    slot = static_cast<Slot>(sequences_.size());
    sequences_.emplace_back();
  } else {
    slot = unused_.back();
    unused_.pop_back();
  }
  Sequence& s = sequences_[slot];
  // A reused slot keeps the memory of its lists of blocks.
  std::vector<BlockId> blocks = std::move(s.blocks), state = std::move(s.state);
  s = {};
  s.blocks = std::move(blocks);
  s.state = std::move(state);
  s.request = number;
  s.prompt = s.tokens = s.start = s.uncounted = r.input;
  s.target = r.input + output;
  s.priority = r.priority;
  s.adapter = r.adapter;
  s.arrival = r.arrival;
  return slot;
}

bool Queues::goes_before(Slot a, Slot b) const {
  const Sequence &x = at(a), &y = at(b);
  if (order_ == QueueOrder::kPriority && x.priority != y.priority) return x.priority < y.priority;
  if (order_ == QueueOrder::kSjf && x.tokens != y.tokens) return x.tokens < y.tokens;
  return x.request < y.request;
}

void Queues::enqueue(Slot slot) {
  if (by_arrival()) {
    waiting.push_back(slot);
    return;
  }
  const auto before = [this](Slot a, Slot b) { return goes_before(a, b); };
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), slot, before), slot);
}

void Queues::enqueue_again(Slot slot) {
  if (by_arrival()) {
    waiting.push_front(slot);
  } else {
    enqueue(slot);
  }
}

void Queues::run(Slot slot) {
  at(slot).ticket = tickets_++;
  running.push_back(slot);
}

}  // namespace orrery
