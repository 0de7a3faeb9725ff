// The parts of one training iteration before any constant of a software stack: the seconds of every
// kind of work on every different virtual stage, from the kernel and network rooms. iteration.h
// turns them into the time of an iteration. A fit of the constants needs nothing else.
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

// A collective that runs `count` times on the data stream.
struct DataTransfer {
  Collective what;
  double count = 1;
  Seconds time;  // of one
};

// One micro-batch in one virtual stage, on one rank.
struct ChunkParts {
  template <class T>
  using ByCost = std::array<std::array<T, kTrainingPasses>, kTrainingCosts>;  // [cost][pass]
  ByCost<Seconds> time{};
  // The largest share of the data sheet's arithmetic peak that an op of `time` reaches, 0 to 1; of
  // elementwise kernels the share that all of them together have of the bandwidth that copies
  // reach; 0 for collectives. A constant that multiplies `time` is at least this share, so that
  // nothing is faster than the data sheet.
  ByCost<double> of_peak{};
  // Number of kernels launched: in the forward pass; in recomputation and both backward passes.
  std::array<double, 2> kernels{};
  // The part of time[tensor] that is collectives of layers, each next to a product that a stack can
  // overlap it with (stream_overlap.h), and the number of these collectives.
  std::array<Seconds, kTrainingPasses> piped{};
  std::array<double, kTrainingPasses> collectives{};
  // The part of time[context] that is hops of rings, and the number of layers whose attention waits
  // for context-parallel ranks (context_overlap.h).
  std::array<Seconds, kTrainingPasses> hops{};
  std::array<double, kTrainingPasses> contexts{};
  // Communication of sharded weights and gradients (ZeRO 3): the gather before the forward pass,
  // the gather before the backward pass, and the reduction and scattering of gradients. Under ZeRO
  // 2 all micro-batches of an iteration but the last one scatter; the gradients of the last one are
  // StageParts::reduce, as under ZeRO 1. A pipeline has none under ZeRO 2.
  Seconds gather, gather_again, scatter;
  // The collectives of these three. Those of `scatters` run in every micro-batch but the last under
  // ZeRO 2.
  std::vector<DataTransfer> gathers, gathers_again, scatters;
  // Time on the rank's share of its node's ports (CollectiveTime::port_time) of the transfers
  // above; 0 for transfers within a node.
  ByCost<Seconds> on_port{};
  std::array<Seconds, kTrainingPasses> hops_on_port{};  // part of on_port[context]
  Seconds gather_on_port, gather_again_on_port, scatter_on_port;
  Seconds offload;  // copies of saved tensors to the host; the copies back take the same time
  int layers = 0;
  Flops flops;  // of all passes, recomputation included: the FLOPs that HFU counts
};

// Work of one pipeline stage, once an iteration.
struct StageParts {
  Seconds reduce;  // reduction of gradients over the ranks that hold the same weights
  Seconds gather;  // gathering of weights that are updated in shards (ZeRO 1 and 2)
  Seconds reduce_on_port, gather_on_port;  // time of both on the port, as in ChunkParts
  int buckets = 1;                         // number of buckets of equal size in which both travel
  // The same where no computation hides it: after the last backward pass
  // (StackTraits::whole_shards), and after the optimizer (that, and StackTraits::broadcasts).
  // `copies`: kernels after the gather that copy weights into place, which the host launches during
  // the gather.
  Seconds late_reduce, late_gather;
  double copies = 0;
  // The collectives of these four.
  std::vector<DataTransfer> reductions, updates, late_reductions, late_updates;
  Seconds optimizer;  // the optimizer's kernel, and the norm of the gradients
  // An optimizer on the host: copies of gradients to the host, its step, copies of updated weights
  // back, and the number of pieces of the step and of the copies back.
  Seconds to_host, host_step, from_host;
  int host_pieces = 1;
};

struct IterationParts {
  std::vector<ChunkParts> kinds;  // of virtual stages that differ
  std::vector<int> kind;          // index in `kinds` of each virtual stage, in model order
  std::vector<StageParts> stages;
  const ChunkParts& of_chunk(int virtual_stage) const {
    return kinds[static_cast<std::size_t>(kind[static_cast<std::size_t>(virtual_stage)])];
  }
  bool async_gradients = false;  // StackTraits::async_gradients
  Seconds send;                  // activations of a micro-batch to the next stage
  Bytes send_bytes;              // of a send
  Seconds send_on_port;          // time of a send on the port, as in ChunkParts
  // Factors >= 1 by which computation takes longer during tensor-parallel collectives,
  // context-parallel hops, the exchange of experts, and data-parallel communication.
  double tensor_slowdown = 1, context_slowdown = 1, exchange_slowdown = 1, data_slowdown = 1;
  // Relative errors of each cost, weighted by time: shared by a family, and own (estimate.h).
  std::array<double, kTrainingCosts> shared{}, own{};
  // The errors of communication that is no cost of a pass: weights, gradients and sends.
  double wires_shared = 0, wires_own = 0;
  Origin origin = Origin::kExact;  // the weakest origin of all times
};

// One op of a pass of a micro-batch, before the stack's constants.
struct TrainingTerm {
  TrainingOp op;
  Estimate<Seconds> time;  // of all its calls
  Bound bound = Bound::kNetwork;
  Seconds least;  // time at the data sheet's peaks; 0 for collectives
};

class ErrorSum;

// Computes the parts of a job. Borrows all arguments of the constructor.
class IterationModel {
 public:
  IterationModel(const Architecture& model, const Cluster& cluster, const KernelModel& kernels,
                 const NetworkModel& network);

  // REQUIRES that check_job and the schedule accept the job. Throws Infeasible if the plan needs
  // more GPUs than the cluster has, NoData if the GPU does not multiply in the job's formats, and
  // the errors of KernelModel.
  IterationParts parts(const TrainingJob& job, const StackTraits& stack) const;

  // The ops of virtual stage number `index`, in the order of training_ops.
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
