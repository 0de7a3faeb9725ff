// The machine of a question: a number of GPUs of one kind in nodes of one type.
//
// Ranks are placed in order: rank r is in node r / gpu_count. A group of ranks is described by its
// size and the stride between its members. Tensor-parallel groups have stride 1, data-parallel
// groups the product of the inner degrees. All groups of a kind begin side by side from rank 0.
#pragma once

#include <optional>
#include <string_view>

#include "orrery/hardware/catalog.h"

namespace orrery {

// The connection of a group of ranks: the smallest fabric that contains every group of its kind.
struct GroupLink {
  const Fabric* fabric = nullptr;  // of the cluster, which must outlive it
  // Nominal bandwidth of one rank on that fabric, each way, while all other groups of the kind use
  // it as well. It is that of the GPU's own link if that is slower than the fabric.
  BytesPerSecond bandwidth{};
  int ranks_per_node = 1;  // members of the group in one node
  int nodes = 1;           // nodes that the group spans
  // Neighbours that have a bridge of their own: of as many hops of a ring, one takes this fabric.
  int bridged = 1;
  int stride = 1;  // between the members of the group, in GPUs
};

// The node type that `name` means for `gpu`: the GPU's usual node if it is empty; a node type by
// name; or, for a fabric between nodes ("ib-hdr"), the usual node with that fabric as its network.
// InputError: no such node type or fabric, or a node type of the catalog that is built with other
// GPUs. A GPU or node of the user's own can be combined with any.
NodeType node_of(const Catalog& catalog, const Gpu& gpu, std::string_view name);

// The GPU of that name; if it is empty, the first GPU with which the node type `node` is built.
Gpu gpu_of(const Catalog& catalog, std::string_view name, std::string_view node);

class Cluster {
 public:
  // `gpus` GPUs in nodes of the type that node_of() gives. InputError: as node_of, or gpus < 1.
  // Infeasible: several nodes of a type without a network.
  Cluster(const Catalog& catalog, Gpu gpu, int gpus, std::string_view node_type = "");
  // The same for a node type that need not be in a file.
  Cluster(const Catalog& catalog, Gpu gpu, int gpus, NodeType node_type);

  const Gpu& gpu() const { return gpu_; }
  const NodeType& node_type() const { return node_type_; }
  int gpus() const { return gpus_; }
  int nodes() const;  // the last one may be partly filled
  int hosts() const;  // host computers; a rack of trays has several

  const Fabric* scale_up() const { return scale_up_ ? &*scale_up_ : nullptr; }
  const Fabric* bridge() const { return bridge_ ? &*bridge_ : nullptr; }
  const Fabric* network() const { return network_ ? &*network_ : nullptr; }

  // Bandwidth that leaves a node, each way, divided by the node's GPUs; zero without a network.
  BytesPerSecond network_per_gpu() const;

  // The connection of groups of `ranks` members `stride` apart. InputError: such a group does not
  // lie within the cluster, or ranks < 2.
  GroupLink link(int ranks, int stride = 1) const;

 private:
  // Whether every group that spans `span` ranks lies within one domain of `domain` GPUs.
  bool holds(int domain, int span) const;

  Gpu gpu_;
  int gpus_;
  NodeType node_type_;
  std::optional<Fabric> scale_up_, bridge_, network_;
};

}  // namespace orrery
