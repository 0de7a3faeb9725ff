// The sums over the ops of one virtual stage: ChunkParts of what passes compute and send, and the
// errors of each cost in IterationParts.
#pragma once

#include <array>

#include "orrery/training/iteration/iteration_parts.h"

namespace orrery {

// One op that the stack launches, as the kernel and network rooms time it.
struct LaunchedOp {
  const TrainingOp& op;
  const Estimate<Seconds>& call;  // time of one call
  const KernelTime* kernel;       // null for collectives
  Seconds on_port;                // of one call of a collective (CollectiveTime::port_time)
};

class OpSums {
 public:
  // Borrows all arguments. Adds to both results.
  OpSums(const TrainingPlan& plan, ChunkParts& parts, IterationParts& whole)
      : plan_(plan), parts_(parts), whole_(whole) {}

  void add(const LaunchedOp& op);

  // Adds the figures that need all ops: the share of the bandwidth that elementwise kernels reach,
  // and the own errors of the stage's costs. REQUIRES that no add() follows.
  void finish();

 private:
  void add_context(const LaunchedOp& op, Seconds time);
  void add_kernel(const LaunchedOp& op);

  const TrainingPlan& plan_;
  ChunkParts& parts_;
  IterationParts& whole_;
  std::array<double, kTrainingCosts> own_squared_{};
  // Time that the bytes of kernels take at the data sheet's bandwidth.
  ChunkParts::ByCost<Seconds> moved_{};
};

}  // namespace orrery
