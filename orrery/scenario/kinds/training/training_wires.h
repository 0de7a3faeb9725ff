// The bytes that the collectives of a training iteration put on wires, exposed or not.
//
// They are the collectives of iteration_parts.h: those of the passes in every micro-batch, the
// gathers and scatters of sharded weights, the reductions of gradients and gathers of updated
// weights once an iteration, and the sends between stages. The exchange of experts counts what its
// kernels send (expert_bytes). Evaluations, checkpoints and failures are left out.
#pragma once

#include "orrery/scenario/setup/link_bill.h"
#include "orrery/training/figures/training_figures.h"

namespace orrery {

// The bits on the links of a cluster.
struct IterationTraffic {
  double node = 0, bridge = 0, network = 0;

  void add(const GroupTraffic& more, double times);
  void add(const IterationTraffic& more, double times);
};

// The traffic of an iteration for one GPU, as the mean over the pipeline's stages.
IterationTraffic iteration_traffic(const TimedIteration& timed, const Cluster& cluster,
                                   const NetworkModel& network);

}  // namespace orrery
