// The tables of NCCL's tuner, as one version of NCCL has them.
//
// They are facts of the catalog: catalog/network/nccl-<version>.yaml, where every table names the
// place in NCCL's sources that it comes from. nccl_tuner.h computes with them. The tables of the
// latest version are those with which times are predicted; those of an older version tell which
// algorithm and protocol that version chooses.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/index.h"
#include "orrery/base/node.h"
#include "orrery/hardware/gpu_architecture.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/workload/ops/collective_algorithm.h"

namespace orrery {

inline constexpr std::size_t kNcclGenerations = 4;  // NcclGeneration

struct NcclTables {
  std::string version;  // of NCCL: "2.30"

  // Microseconds, by algorithm and then protocol (LL, LL128, Simple). Zero for an algorithm or a
  // protocol that the table does not list.
  using Latencies = std::array<std::array<double, kCollectiveProtocols>, kCollectiveAlgorithms>;
  Latencies base{};     // of a call
  Latencies nvlink{};   // of a step over NVLink
  Latencies pci{};      // of a step over PCI Express
  Latencies network{};  // of a step between nodes
  // Microseconds that posting a message to the network takes, by the CPU's maker.
  double intel_post = 0, amd_post = 0;

  // GB/s on one node, on two, and on more.
  using ByNodes = std::array<double, 3>;
  template <class T>
  using ByGeneration = std::array<T, kNcclGenerations>;
  // The most that LL carries: on one node by the GPU, on several by the CPU (first value unused).
  ByGeneration<double> ll_one_node{};
  ByNodes ll_intel{}, ll_amd{};
  // The share of the channels' bandwidth that a ring carries with LL: of an all-reduce and on
  // several nodes, and of any other collective on one node.
  std::array<double, 2> ring_ll_share{};
  // The most that one channel carries.
  ByGeneration<ByNodes> ring_ll128{}, tree_ll128{}, tree{}, nvls_tree{};
  // Share of a channel's bandwidth that a reduction in the NVLink switch reaches; 0: none.
  ByGeneration<double> nvls_efficiency{};

  // Factors of a tree's bandwidth by floor(log2(bytes / 64)); 1 for longer messages.
  static constexpr std::size_t kTreeSizes = 23;
  using BySize = std::array<double, kTreeSizes>;
  std::array<BySize, kCollectiveProtocols> tree_correction{};  // by protocol
  // Factor of the latency of a ring with Simple on several nodes, from `plateau_bytes` a channel
  // and rank on: of Volta, and of later generations.
  double plateau_volta = 1, plateau = 1, plateau_bytes = 0;

  // Results of the search of the topology, as shares of data-sheet bandwidths (nccl_graph.h).
  struct Graph {
    int node_channels = 0;     // of rings and trees on one node
    int most_heads = 0;        // most channels across nodes, and of NVLS; one per GPU
    int lone_channels = 0;     // across nodes with one GPU in each
    double nvlink_share = 0;   // of NVLink's bandwidth that the channels of one node have in all
    double nvls_parts = 0;     // of that share, one NVLS channel's part is 1 / nvls_parts
    double nic_share = 0;      // of a port's bandwidth
    double nvlink_across = 0;  // of NVLink's bandwidth that channels across nodes may use in all
  } graph;
};

// The table's value for a ring with LL, in microseconds: the quickest step that NCCL knows.
inline double ring_ll(const NcclTables::Latencies& table) {
  return table[index(CollectiveAlgorithm::kRing)][index(CollectiveProtocol::kLl)];
}

// The tables of the latest version in the catalog. They live until the program ends, and a text is
// parsed once. Thread-safe. InputError: no such file, or a malformed one, with file:line:key.
const NcclTables& nccl_tables(const Bundle& bundle);
// The tables of the version nearest to `version` by its minor number, and of the older one of two
// that are equally near. The rest is as above.
const NcclTables& nccl_tables(const Bundle& bundle, const LibraryVersion& version);

// Reads one file's document.
NcclTables read_nccl_tables(const Node& document);

// Whether a file of the catalog ("network/nccl-2.30.yaml") holds such tables.
bool is_nccl_tables(std::string_view path);

}  // namespace orrery
