// The machine that a question is about: a number of GPUs of one kind in nodes of one type.
//
// Ranks are placed in order: rank r sits in node r / gpu_count. A group of ranks is described by
// its size and the stride between its members (tensor-parallel groups have stride 1, data-parallel
// groups the product of the inner degrees); all groups of a kind begin side by side from rank 0.
#pragma once

#include <optional>
#include <string_view>

#include "orrery/hardware/catalog.h"

namespace orrery {

// How a group of ranks is connected: by the smallest fabric that holds every group of its kind.
struct GroupLink {
  const Fabric* fabric = nullptr;  // of the cluster, which must outlive it
  // Nominal bandwidth each way that one rank of the group has on that fabric while all other groups
  // of the kind use it as well; the GPU's own link is counted where it is slower than the fabric.
  BytesPerSecond bandwidth{};
  int ranks_per_node = 1;  // members of the group in one node
  int nodes = 1;           // nodes that the group spans
};

// What `name` means for `gpu`: nothing, its usual node; a node type; or a fabric that leaves nodes
// ("ib-hdr"), the usual node with that in place of its own network. InputError: neither; a node
// type that is built with other GPUs of the catalog (a GPU or node of the user's own stands
// anywhere).
NodeType node_of(const Catalog& catalog, const Gpu& gpu, std::string_view name);

// The GPU of that name; empty: the first that the node type `node` is built with.
Gpu gpu_of(const Catalog& catalog, std::string_view name, std::string_view node);

class Cluster {
 public:
  // `gpus` GPUs in nodes as node_of(). InputError: as there, gpus < 1. Infeasible: several nodes of
  // a type that has no network.
  Cluster(const Catalog& catalog, Gpu gpu, int gpus, std::string_view node_type = "");
  // The same with a node type that is in no file.
  Cluster(const Catalog& catalog, Gpu gpu, int gpus, NodeType node_type);

  const Gpu& gpu() const { return gpu_; }
  const NodeType& node_type() const { return node_type_; }
  int gpus() const { return gpus_; }
  int nodes() const;  // the last one may be partly filled
  int hosts() const;  // host computers: several in a rack of trays

  const Fabric* scale_up() const { return scale_up_ ? &*scale_up_ : nullptr; }
  const Fabric* bridge() const { return bridge_ ? &*bridge_ : nullptr; }
  const Fabric* network() const { return network_ ? &*network_ : nullptr; }

  // Bandwidth each way that leaves the node, divided by its GPUs; zero without a network.
  BytesPerSecond network_per_gpu() const;

  // How groups of `ranks` (>= 2) members `stride` apart are connected. InputError if such a group
  // does not lie within the cluster.
  GroupLink link(int ranks, int stride = 1) const;

 private:
  // Whether every group that spans `span` ranks lies inside one domain of `domain` GPUs.
  bool holds(int domain, int span) const;

  Gpu gpu_;
  int gpus_;
  NodeType node_type_;
  std::optional<Fabric> scale_up_, bridge_, network_;
};

}  // namespace orrery
