// The parts of one training iteration before any software stack's constants: seconds of every kind
// of work on every different virtual stage, from the kernel and network rooms. iteration.h makes a
// time of them; a fit of the constants needs nothing else.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/hardware/cluster.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/workload/plan/stack_traits.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {

// One micro-batch through one virtual stage.
struct ChunkParts {
  template <class T>
  using ByCost = std::array<std::array<T, kTrainingPasses>, kTrainingCosts>;  // [cost][pass]
  ByCost<Seconds> time{};
  // The largest share of the data sheet's arithmetic peak that an op of `time` reaches, 0 of
  // collectives: no constant that multiplies `time` is below it.
  ByCost<double> of_peak{};
  std::array<double, 2> kernels{};  // launched: forward; recomputed and backward
  // Of time[tensor]: collectives of layers, each next to a product that a stack can run it beside
  // (stream_overlap.h); and how many.
  std::array<Seconds, kTrainingPasses> piped{};
  std::array<double, kTrainingPasses> collectives{};
  // Of time[context]: the hops of rings; and layers whose attention waits for context-parallel
  // ranks (context_overlap.h).
  std::array<Seconds, kTrainingPasses> hops{};
  std::array<double, kTrainingPasses> contexts{};
  // Communication of sharded weights and gradients (ZeRO 3): gathered before the forward, again
  // before the backward, gradients reduced and scattered.
  Seconds gather, gather_again, scatter;
  // What of these and of time[tensor], [context] and [expert exchange] needs the rank's share of
  // its node's ports (CollectiveTime::port_time), 0 within a node; `hops_on_port` is of the hops.
  ByCost<Seconds> on_port{};
  std::array<Seconds, kTrainingPasses> hops_on_port{};
  Seconds gather_on_port, gather_again_on_port, scatter_on_port;
  Seconds offload;  // saved tensors to the host, and the same back
  int layers = 0;
  Flops flops;  // of all passes: what HFU counts
};

// Once an iteration on one pipeline stage.
struct StageParts {
  Seconds reduce;                          // gradients over the ranks that hold the same weights
  Seconds gather;                          // weights updated in shards (ZeRO 1 and 2)
  Seconds reduce_on_port, gather_on_port;  // of these, as in ChunkParts
  int buckets = 1;                         // that both travel in, of equal size
  Seconds broadcast;                       // the same where one owner follows the other
  Seconds optimizer;                       // its kernel, and the norm of the gradients
  // Of an optimizer on the host: gradients on their way there, its step, updated weights back, in
  // as many pieces.
  Seconds to_host, host_step, from_host;
  int host_pieces = 1;
};

struct IterationParts {
  std::vector<ChunkParts> kinds;
  std::vector<int> kind;  // of each virtual stage, in model order
  std::vector<StageParts> stages;
  bool async_gradients = false;  // as StackTraits
  Seconds send;                  // activations of a micro-batch to the next stage
  Seconds send_on_port;          // of that, as in ChunkParts
  // Of computation beside tensor-parallel collectives, context-parallel hops, the exchange of
  // experts, and data-parallel communication.
  double tensor_slowdown = 1, context_slowdown = 1, exchange_slowdown = 1, data_slowdown = 1;
  // Relative errors of each cost, weighted by time: shared by a family, and own.
  std::array<double, kTrainingCosts> shared{}, own{};
  // The same of communication that is no cost of a pass: of weights, gradients and sends.
  double wires_shared = 0, wires_own = 0;
  Origin origin = Origin::kExact;
};

// One op of a pass of a micro-batch, before the stack's constants.
struct TrainingTerm {
  TrainingOp op;
  Estimate<Seconds> time;  // of all its calls
  Bound bound = Bound::kNetwork;
  Seconds least;  // by the data sheet's peaks; 0 of collectives
};

class ErrorSum;

// Gathers the parts of a job. Borrows everything.
class IterationModel {
 public:
  IterationModel(const Architecture& model, const Cluster& cluster, const KernelModel& kernels,
                 const NetworkModel& network);

  // REQUIRES that check_job and the schedule accept. InputError: the job needs other than the
  // cluster's GPUs. NoData: the GPU does not multiply in the job's formats; as KernelModel.
  IterationParts parts(const TrainingJob& job, const StackTraits& stack) const;

  // Of one virtual stage, op by op, in the order of training_ops.
  std::vector<TrainingTerm> terms(const TrainingJob& job, const StackTraits& stack,
                                  int index) const;

 private:
  template <class Visit>
  void visit(const TrainingJob& job, const StackTraits& stack, int index, Visit visit) const;
  ChunkParts chunk(const TrainingJob& job, const StackTraits& stack, int index,
                   IterationParts& whole, ErrorSum& wires) const;
  StageParts stage(const TrainingJob& job, const StackTraits& stack, const std::vector<int>& chunks,
                   ErrorSum& wires) const;

  const Architecture& model_;
  const Cluster& cluster_;
  const KernelModel& kernels_;
  const NetworkModel& network_;
};

}  // namespace orrery
