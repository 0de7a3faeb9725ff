// What a traced iteration would take if something were different: the measured durations times
// factors, replayed.
//
// - scale: all kernels of a class, or the threads ("cpu"), times a factor of the user's.
// - gpu: another GPU. Products and fused attention whose shapes the trace has (record_shapes=True)
//   are timed by the ratio of the kernel room's predictions for the two GPUs; those without shapes
//   by the ratio of bf16 peaks; other kernels by the ratio of memory bandwidths; copies to and from
//   the host stay. Collectives: ratio of the network room's predictions.
// - dp: another number of data-parallel replicas with the same work for each. Collectives of the
//   data-parallel group are timed by the ratio of the network room's predictions where a node or
//   GPU is named, else by their bus factor, 2(n-1)/n or (n-1)/n. Where gradients are
//   reduce-scattered the optimizer's work is divided by the replicas (ZeRO, FSDP).
// - tp, pp: another degree of tensor or pipeline parallelism (trace_reshape.h), with the same
//   micro-batches and data-parallel replicas.
// Ratios multiply what was measured, so that what the trace knows better than a model (its clocks,
// its kernels, its waits for slow ranks) stays in. The host stays as it was, and so does the order
// of launches, and how kernels that overlap slow each other.
//
// The interval is the error of the replay, at least 3.3 % (what Lumos reports for replays on up to
// 512 H100), with the errors of the two predictions in each ratio; ratios of bandwidth or peaks
// count as 20 % off, an assumption. The user's own factors count as exact.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/replay/trace_replay.h"
#include "orrery/replay/trace_reshape.h"

namespace orrery {

struct TraceWhatIf {
  std::vector<std::pair<OpClass, double>> scale;  // factors of one class multiply
  double cpu = 1;
  std::string gpu, from_gpu;    // of the catalog; from_gpu is the one that was traced
  std::string node, from_node;  // node types; empty: the GPU's own
  int dp = 0;                   // 0: as it was
  int from_dp = 0;  // 0: the group size of the trace's collectives, where there is only one

  TraceDegrees degrees;

  bool asked() const {
    return !scale.empty() || cpu != 1 || !gpu.empty() || dp > 0 || degrees.asked();
  }
};

// "gemm=0.5", "cpu=2". InputError: not CLASS=FACTOR, no such class, a factor not from 0 to 1000.
void add_scale(TraceWhatIf& what_if, std::string_view text);

struct TraceAnswer {
  Seconds measured;  // of one iteration
  ReplayBreakdown replayed;
  double difference = 0;  // replayed / measured - 1
  bool changed = false;   // whether something was asked; if not, what follows is the replay
  ReplayBreakdown what_if;
  Estimate<Seconds> time;  // of one iteration, with what was asked
  ReplayedTrace timeline;  // the same, node by node
  std::vector<std::string> notes;
};

// InputError: gpu without from_gpu, names that the catalog does not have, dp without collectives or
// with several sizes of groups and no from_dp, a from_dp or from_tp that no group has, pp without a
// from_pp of at least 2.
TraceAnswer answer_trace(const KinetoTrace& trace, const TraceGraph& graph,
                         const TraceWhatIf& what_if, const Bundle& bundle);

}  // namespace orrery
