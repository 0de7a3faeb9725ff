// The sequences of a replica, and the lists of those that wait and those that run.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "orrery/serving/requests/request.h"
#include "orrery/serving/state/sequence.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

using QueueOrder = EngineProfile::Scheduler::Order;

class Queues {
 public:
  explicit Queues(QueueOrder order) : order_(order) {}

  std::deque<Slot> waiting;   // in the order in which they are admitted
  std::vector<Slot> running;  // in the order in which they began to run

  QueueOrder order() const { return order_; }
  Sequence& at(Slot slot) { return sequences_[slot]; }
  const Sequence& at(Slot slot) const { return sequences_[slot]; }
  // All sequences, with those that are gone, which hold nothing.
  std::span<Sequence> all() { return sequences_; }

  // A sequence for `request` (index `number` of the load) with `output` tokens. It is in no list.
  Slot make(std::uint32_t number, const Request& request, std::int32_t output);
  // The sequence is gone, and its slot is used again. REQUIRES that it is in no list.
  void remove(Slot slot) { unused_.push_back(slot); }

  // Puts a new sequence at its place in `waiting`.
  void enqueue(Slot slot);
  // Puts an evicted sequence at its place in `waiting` (QueueOrder).
  void enqueue_again(Slot slot);
  // Appends the sequence to `running` and gives it the next ticket.
  void run(Slot slot);

 private:
  bool by_arrival() const { return order_ == QueueOrder::kFcfs || order_ == QueueOrder::kLpm; }
  bool goes_before(Slot a, Slot b) const;

  QueueOrder order_;
  std::vector<Sequence> sequences_;
  std::vector<Slot> unused_;
  std::int64_t tickets_ = 0;
};

}  // namespace orrery
