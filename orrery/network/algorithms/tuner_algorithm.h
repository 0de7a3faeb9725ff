// The entry of an algorithm for NCCL's tuner. Each algorithm of the library has a file of its own
// behind this interface (ring.cc, tree.cc, ...); nccl_tuner.h asks it.
//
// The formulas are those of ncclTopoTuneModel and ncclTopoGetAlgoTime (src/graph/tuning.cc of
// https://github.com/NVIDIA/nccl); the numbers in them come from NcclTables.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "orrery/base/units.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/algorithms/nccl_tables.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The result of NCCL's search of the topology for a group: channels, and the bandwidth of each.
struct NcclGraph {
  const NcclTables* tables = nullptr;  // never null where the tuner is asked
  NcclGeneration generation = NcclGeneration::kHopper;
  int ranks_per_node = 8, nodes = 1;
  bool nvlink = true;  // within the node; false: PCI Express
  int channels = 12;
  BytesPerSecond intra{}, inter{};  // of one channel, within and between nodes
  // The rate of a tree's channel within a node, if above `intra`. A rank of a tree passes each byte
  // on once and a rank of a ring twice, so that the search lets trees carry up to twice `inter`
  // there.
  BytesPerSecond tree{};
  int nvls_channels = 0;  // 0: the node's switch does not reduce
  BytesPerSecond nvls{};  // of one of these channels
  Seconds nic_latency{};  // of a message between nodes, beyond that of InfiniBand in NCCL's table
  bool amd_cpu = false;
  bool collnet = false;     // the network's switches reduce, and NCCL_COLLNET_ENABLE is set
  bool symmetric = false;   // the buffers are registered as windows of symmetric memory
  bool ll128 = true;        // NICs close to the GPUs; LL128 needs NVLink too
  bool rings_only = false;  // the library has no other algorithm
  std::optional<LibraryVersion> version{};  // of NCCL; empty: one that has every algorithm

  int ranks() const { return ranks_per_node * nodes; }
};

// How an algorithm's start overlaps with its transfer (library_curve.h).
enum class LatencyOverlap {
  kTree,    // a chain of stages that every chunk passes
  kRing,    // steps that overlap their latency with the transfer of other chunks
  kSwitch,  // a reduction in the node's switch: no small message is quicker than a tree's or ring's
  kAlone,   // stages as in a tree; no other algorithm takes its start
};

// Latency and algorithm bandwidth (bytes / bandwidth is a time) of one algorithm with one protocol.
struct NcclCost {
  bool available = false;  // whether NCCL considers the pair for this collective and graph
  Seconds latency;
  BytesPerSecond bandwidth;
  Seconds nic{};  // part of the latency that nic_latency causes, over all sequential messages
  // NVLSTree: stages beyond the first that a chunk passes, 2 log2(nodes), and the time in which its
  // largest chunks fill them (nvls_tree.cc).
  double stages = 0;
  Seconds fill{};
  LatencyOverlap overlap = LatencyOverlap::kTree;
  // The tuner's corrections: factors of the bandwidth by size (nullptr: none), and a factor of the
  // latency for messages of at least `plateau_from`.
  const NcclTables::BySize* by_size = nullptr;
  double plateau = 1;
  Bytes plateau_from{std::numeric_limits<double>::infinity()};
};

// A question to an algorithm: its time for one kind of collective with one protocol.
struct TunerCall {
  const NcclGraph& graph;
  Collective::Kind kind;
  CollectiveProtocol protocol;

  const NcclTables& tables() const { return *graph.tables; }
  bool is_all_reduce() const { return kind == Collective::Kind::kAllReduce; }
  bool is_gather_or_scatter() const {
    return kind == Collective::Kind::kAllGather || kind == Collective::Kind::kReduceScatter;
  }
};

// Rows of the latency tables for a call, in microseconds.
struct StepLatencies {
  double base = 0;   // of the call
  double intra = 0;  // of a step within a node
  double inter = 0;  // of a step between nodes, with the NIC's own latency
};

struct TunerAlgorithm {
  // The first version of NCCL that has the algorithm: NCCL user guide, "Environment Variables",
  // NCCL_ALGO (docs/userguide/source/env.rst of https://github.com/NVIDIA/nccl).
  LibraryVersion since;
  // Why NCCL does not consider the algorithm; empty: it does. General rules (the protocols, the
  // collectives that NCCL has no choice for) are not repeated here.
  std::string_view (*why_not_offered)(const TunerCall&);
  double (*latency)(const TunerCall&, const StepLatencies&);  // microseconds
  double (*bus_bandwidth)(const TunerCall&);                  // GB/s, all channels
  double (*algorithm_share)(const TunerCall&);  // bytes / s of the algorithm over those of the bus
  // Writes what the tuner knows beyond latency and bandwidth; may be null.
  void (*refine)(const TunerCall&, NcclCost&) = nullptr;
  LatencyOverlap overlap = LatencyOverlap::kTree;
  bool simple_only = true;   // the algorithm has the Simple protocol alone
  bool nvls_kernel = false;  // its kernel holds as many multiprocessors as NVLS's does (overlap.h)
  bool collnet = false;      // the network's switches reduce, where the user has enabled it
  bool symmetric = false;    // its kernels need buffers that are registered as windows
};

// The entries, one for each TUNER of collective_algorithms.def: ring_tuner, ... Each is defined in
// its algorithm's own file.
#define TUNER(name) extern const TunerAlgorithm name##_tuner;
#define CURVE(name)
#define FLOW(name)
#define ALGORITHM(value, name, models, doc) models
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef FLOW
#undef CURVE
#undef TUNER

// The algorithm's entry. REQUIRES has_model(algorithm, AlgorithmModel::kTuner).
const TunerAlgorithm& tuner_algorithm(CollectiveAlgorithm algorithm);

// Shared by the formulas.
std::size_t generation_of(const TunerCall& call);  // row of a table
std::size_t nodes_column(const TunerCall& call);   // column of a ByNodes row
// GB/s of all channels of rings and trees.
double channels_bandwidth(const TunerCall& call);
// GB/s that LL carries at most.
double ll_limit(const TunerCall& call);
// Steps of a ring: 2(n-1), n-1 or n; and those of them that cross between nodes.
double ring_steps(const TunerCall& call);
double ring_steps_across(const TunerCall& call);
// floor(log2(nodes)).
double tree_depth(const TunerCall& call);

}  // namespace orrery
