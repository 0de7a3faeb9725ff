// The tasks of a folded program in the flow simulation, and who waits for whom.
//
// A task is a class of streams in one operation; a part is a class of GPUs in one operation. A part
// begins when the parts of the same GPUs in the preceding operations have ended. It ends when its
// tasks have, or after its time if the operation computes. A task sends its messages one after
// another, each as soon as the streams that it waits for have come far enough.
//
// While a program runs, only the counters change (flow_simulation.cc); the lists of who waits stay.
// Times are seconds, sizes bytes and rates B/s, as doubles: this is the state of the simulation's
// inner loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/base/units.h"
#include "orrery/flow/simulation/flow_fold.h"
#include "orrery/flow/simulation/flow_program.h"

namespace orrery {

// The class of streams `stream` in operation `op`.
struct FlowTask {
  std::int32_t op = 0, stream = 0;
  std::int32_t unstarted =
      0;  // classes of GPUs (sender, receiver) that have not begun the operation
  std::int32_t first_task = 0;  // of the operation, less the pattern's first class of streams
  std::int32_t count = 0;       // messages
  bool wired = false;           // the messages have bytes and cross links
  bool sending = false;
  bool running = false;  // started and not all arrived
  int sent = 0, arrived = 0;
  std::int32_t place = 0;      // in FlowTasks::running
  double left = 0, since = 0;  // bytes left of the message under way, at the time `since`
  double rate = 0;             // bytes/s
  double bytes = 0, latency = 0;
  std::int32_t lane = 0;  // of that latency (DelayLanes)

  // Bytes left of the message under way at the time `now`.
  double left_at(double now) const { return left - rate * (now - since); }
};

// A class of GPUs in one operation.
struct FlowPart {
  std::int32_t op = 0, gpu = 0;
  std::int32_t waits = 0;  // preceding parts that have not ended
  std::int32_t open = 0;   // tasks of the part that are not done
  double time = 0;         // of computing, s
  bool ended = false;
};

class FlowTasks {
 public:
  // The arguments must outlive it. InputError: a time or scale that is not finite, an operation
  // after one that does not exist, more tasks than memory holds.
  FlowTasks(const FlowProgram& program, const FoldedFlows& folded, Seconds message_overhead);

  std::vector<FlowTask> tasks;  // by operation
  std::vector<FlowPart> parts;  // by operation, then class of GPUs
  std::vector<std::int32_t> running;

  FlowTask& task(std::int32_t i) { return tasks[index(i)]; }
  const FlowTask& task(std::int32_t i) const { return tasks[index(i)]; }
  FlowPart& part(std::int32_t i) { return parts[index(i)]; }
  // The part of an operation on a class of GPUs that takes part in it.
  std::int32_t part_of(std::int32_t op, std::int32_t gpu) const;
  // The operation's tasks: from first_task(op) to first_task(op + 1).
  std::int32_t first_task(std::int32_t op) const { return first_task_[index(op)]; }
  // The parts that wait for a part.
  std::span<const std::int32_t> after(std::int32_t part) const {
    return range(after_, after_begin_, part);
  }

  const FoldedFlows::StreamClass& stream(const FlowTask& t) const {
    return folded_.streams[index(t.stream)];
  }
  // The waits of a task's class of streams, and the classes that wait for it.
  std::span<const FoldedFlows::Wait> waits(const FlowTask& t) const {
    return range(waits_, wait_begin_, t.stream);
  }
  std::span<const std::int32_t> followers(const FlowTask& t) const {
    return range(followers_, follower_begin_, t.stream);
  }
  std::int32_t most_lag() const { return most_lag_; }

  // Whether the task's next message may leave.
  bool may_send(const FlowTask& t) const {
    if (!t.running || t.sent >= t.count) return false;
    for (const FoldedFlows::Wait& w : waits(t)) {
      const FlowTask& other = task(t.first_task + w.other);
      if (other.arrived < std::min(t.sent - w.lag + 1, other.count)) return false;
    }
    return true;
  }

  void run(std::int32_t i) {
    task(i).running = true;
    task(i).place = static_cast<std::int32_t>(running.size());
    running.push_back(i);
  }
  void stop(std::int32_t i) {
    FlowTask& t = task(i);
    t.running = false;
    running[index(t.place)] = running.back();
    task(running.back()).place = t.place;
    running.pop_back();
  }

 private:
  template <class T>
  static std::span<const T> range(const std::vector<T>& all, const std::vector<std::size_t>& begin,
                                  std::int32_t of) {
    const auto i = static_cast<std::size_t>(of);
    return {all.data() + begin[i], all.data() + begin[i + 1]};
  }
  std::int32_t find_part(std::int32_t op, std::int32_t gpu) const;
  void add_parts(std::int32_t number, const FlowOp& op);
  void add_tasks(std::int32_t number, const FlowOp& op, Seconds message_overhead);
  void order(const FlowProgram& program);
  void connect_streams();

  const FoldedFlows& folded_;
  std::vector<std::int32_t> first_part_{0}, first_task_{0};  // of each operation, and the end
  std::vector<std::int32_t> after_;
  std::vector<FoldedFlows::Wait> waits_;
  std::vector<std::int32_t> followers_;
  std::vector<std::size_t> after_begin_, wait_begin_, follower_begin_;
  std::int32_t most_lag_ = 0;
};

}  // namespace orrery
