// What-if questions about a traced iteration: measured durations are multiplied by factors, and the
// trace is replayed.
//
//   scale   All kernels of a class, or the threads ("cpu"), by a factor of the user.
//   gpu     Another GPU. Products and fused attention whose shapes the trace has
//           (record_shapes=True) change by the ratio of the kernel room's predictions for the two
//           GPUs, those without shapes by the ratio of bf16 peaks, other kernels by the ratio of
//           memory bandwidths. Copies to and from the host do not change. Collectives change by the
//           ratio of the network room's predictions.
//   dp      Another number of data-parallel replicas with the same work for each. Collectives of
//           the data-parallel group change by the ratio of the network room's predictions if a node
//           or GPU is named, otherwise by the ratio of their bus factors, 2(n-1)/n or (n-1)/n. If
//           gradients are reduce-scattered (ZeRO, FSDP), the optimizer's work is divided among the
//           replicas.
//   tp, pp  Another degree of tensor or pipeline parallelism (trace_reshape.h) with the same
//           micro-batches and data-parallel replicas.
//
// Because ratios multiply measured times, the answer keeps what the trace knows better than a
// model: its clocks, its kernels, its waits for slow ranks. The host's work, the order of launches,
// and the slowdown of overlapping kernels do not change.
//
// The interval has the error of the replay, at least 3.3 % (Lumos' mean for replays on up to 512
// H100, arXiv:2504.09307), and the errors of both predictions of each ratio. Ratios of data-sheet
// bandwidths or peaks have an assumed error of 20 %. Factors of the user count as exact. Kernels
// that are faster than the traced GPU's peak have a further error (trace_limits.h), and collectives
// without a kind or a number of ranks one of 50 %; the notes say how many there are of each.
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
  std::string gpu, from_gpu;    // wanted and traced GPU, ids of the catalog
  std::string node, from_node;  // wanted and traced node type; empty: the GPU's usual one
  int dp = 0;                   // 0: unchanged
  int from_dp = 0;  // 0: the group size of the trace's collectives, if all have the same

  TraceDegrees degrees;

  bool asked() const {
    return !scale.empty() || cpu != 1 || !gpu.empty() || dp > 0 || degrees.asked();
  }
};

// Adds a factor written as CLASS=FACTOR: "gemm=0.5", "cpu=2". Throws InputError for another form,
// an unknown class, or a factor outside of 0 to 1000.
void add_scale(TraceWhatIf& what_if, std::string_view text);

struct TraceAnswer {
  Seconds measured;  // of one iteration
  ReplayBreakdown replayed;
  double difference = 0;  // replayed / measured - 1
  bool changed = false;   // something was asked for; false: the members below are the replay
  ReplayBreakdown what_if;
  Estimate<Seconds> time;  // of one iteration, with the changes
  ReplayedTrace timeline;  // with the changes, node by node
  std::vector<std::string> notes;
};

// Answers the question. Throws InputError for gpu without from_gpu, for names that the catalog does
// not have, for dp without collectives, for dp without from_dp if groups have several sizes, for a
// from_dp or from_tp that no group has, and for pp without a from_pp of at least 2.
TraceAnswer answer_trace(const KinetoTrace& trace, const TraceGraph& graph,
                         const TraceWhatIf& what_if, const Bundle& bundle);

}  // namespace orrery
