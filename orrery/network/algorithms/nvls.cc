// NVLS and NVLSTree: the NVLink switch of each node reduces (NVLink SHARP). NVLSTree joins several
// nodes by a tree.
#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/cost.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

namespace {

constexpr std::string_view kNoSwitch = "the node's switch does not reduce";
// https://docs.nvidia.com/deeplearning/nccl/release-notes/rel_2-18-1.html: NVLS with IB SHARP.
constexpr LibraryVersion kNvlsAcross{2, 18};

// GB/s of one channel within a node.
double nvls_channel(const TunerCall& call) {
  const NcclGraph& g = call.graph;
  const double n = g.nvls_channels;
  double each =
      g.nvls.value() / 1e9 * call.tables().nvls_efficiency[generation_of(call)] * (n - 1) / n;
  each *=
      call.is_all_reduce() ? 2 : (g.ranks_per_node - 1.0) / static_cast<double>(g.ranks_per_node);
  return each;
}

double nvls_share(const TunerCall& call) { return call.graph.ranks() / ring_steps(call); }

}  // namespace

// The bus bandwidth of a large domain stays that of eight GPUs, as NCCL counts it: GB300 x8 reaches
// 841 GB/s, GB200 x72 839 GB/s. So the volume grows from S at 8 ranks to 8/7 S.
constinit const CurveAlgorithm nvls_curve{
    .steps = [](Collective::Kind, int ranks) -> double { return ranks; },
    .volume =
        [](Collective::Kind kind, int ranks) {
          const double n = ranks;
          return kind == Collective::Kind::kAllReduce ? std::max(1.0, 8.0 / 7 * (n - 1) / n)
                                                      : bus_factor(kind, ranks);
        },
    .reduces_in_switch = true,
};

constinit const TunerAlgorithm nvls_tuner{
    .since = {2, 17},
    .why_not_offered = [](const TunerCall& call) -> std::string_view {
      if (call.graph.nvls_channels == 0) return kNoSwitch;
      if (!call.is_all_reduce() && !call.is_gather_or_scatter())
        return "NVLS is for all-reduces, all-gathers and reduce-scatters";
      if (call.graph.nodes == 1) return "";
      if (call.graph.version && *call.graph.version < kNvlsAcross)
        return "NCCL has NVLS on several nodes from 2.18 on";
      if (call.graph.collnet) return "";
      return "NVLS on several nodes needs CollNet; nvls-tree does not";
    },
    .latency =
        [](const TunerCall& call, const StepLatencies& step) {
          return step.intra + (call.graph.nodes > 1 ? step.inter : 0);
        },
    .bus_bandwidth =
        [](const TunerCall& call) { return call.graph.nvls_channels * nvls_channel(call); },
    .algorithm_share = nvls_share,
    .overlap = LatencyOverlap::kSwitch,
    .nvls_kernel = true,
};

// A chunk passes up and down a tree of 2 log2(nodes) further stages. Filling them with the largest
// chunks takes, for each stage,
//   7 us for each GPU of a domain: one loop of NVLS takes a chunk for each GPU on each channel. The
//     reduction in a domain's switch starts that much later for every GPU: 56 us on H100 x8
//     (catalog/network/nvlink4-nvswitch.yaml), 6.8 us a GPU in a rack (nvlink5-nvl72.yaml).
//   8 messages of the NIC's own latency: the slots of a connection's buffer, NCCL_STEPS in
//     src/include/device.h of https://github.com/NVIDIA/nccl.
constinit const TunerAlgorithm nvls_tree_tuner{
    .since = {2, 18},
    .why_not_offered = [](const TunerCall& call) -> std::string_view {
      if (call.graph.nvls_channels == 0) return kNoSwitch;
      if (!call.is_all_reduce()) return "trees are for all-reduces";
      return call.graph.nodes > 1 ? "" : "NVLSTree is for several nodes";
    },
    .latency =
        [](const TunerCall& call, const StepLatencies& step) {
          return step.intra + 2 * tree_depth(call) * step.inter;
        },
    .bus_bandwidth =
        [](const TunerCall& call) {
          const NcclGraph& g = call.graph;
          const double n = g.nvls_channels, channels = g.channels, inter = g.inter.value() / 1e9;
          return n * std::min({nvls_channel(call), inter * channels / n * (g.nodes <= 2 ? 2 : 1),
                               call.tables().nvls_tree[generation_of(call)][nodes_column(call)]});
        },
    .algorithm_share = nvls_share,
    .refine =
        [](const TunerCall& call, NcclCost& cost) {
          constexpr Seconds kStageOfGpu = microseconds(7);
          constexpr double kSlots = 8;
          const NcclGraph& g = call.graph;
          cost.stages = 2 * std::log2(static_cast<double>(g.nodes));
          cost.fill = cost.stages * (kStageOfGpu * g.ranks_per_node + kSlots * g.nic_latency);
        },
    .overlap = LatencyOverlap::kSwitch,
};

}  // namespace orrery
