#include "orrery/flow/chakra/chakra_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;
using CollectiveKind = Collective::Kind;

// The bytes that one rank sends in a gather, or receives in a scatter.
Bytes part(const ChakraNode& n, std::size_t ranks) {
  return n.comm == Comm::kGather ? n.size : n.size / static_cast<double>(ranks);
}

// A node as a collective of `ranks` ranks.
FlowCollective asked_of(const ChakraNode& n, std::size_t ranks, CollectiveAlgorithm algorithm) {
  FlowCollective c;
  c.name = n.name;
  c.bytes = n.size;
  c.algorithm = algorithm;
  switch (n.comm) {
    case Comm::kBarrier:
      c.bytes = Bytes(0);
      break;
    case Comm::kAllReduce:
      break;
    case Comm::kAllGather:
      c.kind = CollectiveKind::kAllGather;
      c.bytes = n.size * static_cast<double>(ranks);
      break;
    case Comm::kReduceScatter:
    case Comm::kReduceScatterBlock:
      c.kind = CollectiveKind::kReduceScatter;
      break;
    case Comm::kAllToAll:
      c.kind = CollectiveKind::kAllToAll;
      c.algorithm = CollectiveAlgorithm::kDirect;
      break;
    case Comm::kBroadcast:
    case Comm::kReduce:
      c.kind = n.comm == Comm::kReduce ? CollectiveKind::kReduce : CollectiveKind::kBroadcast;
      c.algorithm = CollectiveAlgorithm::kTree;
      break;
    case Comm::kGather:
    case Comm::kScatter:
      // All passes the first rank's link.
      c.kind = CollectiveKind::kSend;
      c.bytes = part(n, ranks) * (static_cast<double>(ranks) - 1);
      break;
  }
  return c;
}

// The number of neighbouring ranks that every group has in each of its nodes of `node` GPUs; 1 if
// the nodes differ in it, or if a group lies within one node.
int ranks_of_a_node(const std::vector<std::vector<int>>& groups, int node) {
  const auto run_at = [node](const std::vector<int>& g, std::size_t first) {
    std::size_t next = first + 1;
    while (next < g.size() && g[next] / node == g[first] / node) ++next;
    return next - first;
  };
  const std::size_t run = groups[0].empty() ? 1 : run_at(groups[0], 0);
  for (const auto& g : groups) {
    if (run >= g.size() || g.size() % run != 0) return 1;
    for (std::size_t first = 0; first < g.size(); first += run) {
      if (run_at(g, first) != run) return 1;
    }
  }
  return static_cast<int>(run);
}

}  // namespace

Seconds ChakraOps::duration(const ChakraNode& n) const {
  if (n.duration > Seconds(0)) return n.duration;
  const bool computes = n.type == Type::kComp;
  const bool moves = n.type == Type::kMemLoad || n.type == Type::kMemStore;
  if (!computes && !moves) return Seconds(0);
  if (n.operations == 0 && n.tensor == Bytes(0)) return Seconds(0);
  if (!replay_.peak || !replay_.memory_bandwidth) {
    throw InputError(
        fmt::format("node {} ('{}') has no duration; name a GPU to time its num_ops "
                    "and tensor_size",
                    n.id, n.name));
  }
  return std::max(Flops(n.operations) / *replay_.peak, n.tensor / *replay_.memory_bandwidth);
}

int ChakraOps::add(FlowOp op, const std::vector<int>& after) {
  op.after = after;
  program_.ops.push_back(std::move(op));
  return static_cast<int>(program_.ops.size()) - 1;
}

int ChakraOps::compute_for(const ChakraNode& n, Seconds time, const std::vector<int>& ranks,
                           const std::vector<int>& after) {
  FlowOp op;
  op.name = n.name;
  op.time = time;
  if (static_cast<int>(ranks.size()) < replay_.gpus) op.gpus = ranks;
  return add(std::move(op), after);
}

std::vector<int> ChakraOps::compute(const ChakraNode& n, const std::vector<int>& ranks,
                                    const std::vector<int>& after) {
  return {compute_for(n, duration(n), ranks, after)};
}

std::vector<int> ChakraOps::messages(const ChakraNode& n, FlowPattern pattern,
                                     const std::vector<int>& after) {
  program_.patterns.push_back(std::move(pattern));
  return {add(FlowOp::run(n.name, static_cast<int>(program_.patterns.size()) - 1), after)};
}

std::vector<int> ChakraOps::to_or_from_first(const ChakraNode& n, const Groups& groups,
                                             const std::vector<int>& after) {
  FlowPattern p;
  for (const auto& g : groups) {
    p.include(g[0]);
    for (std::size_t i = 1; i < g.size(); ++i) {
      n.comm == Comm::kGather ? p.send(g[i], g[0], part(n, g.size()))
                              : p.send(g[0], g[i], part(n, g.size()));
    }
  }
  return messages(n, std::move(p), after);
}

std::vector<int> ChakraOps::collective(const ChakraNode& n, const Groups& groups,
                                       const std::vector<int>& after) {
  FlowCollective c = asked_of(n, groups[0].size(), replay_.algorithm);
  const std::size_t ranks = groups[0].size();
  if (replay_.collective_time) {
    const Collective asked{c.kind, Collective::Group::kTensor, static_cast<int>(ranks), c.bytes};
    const int stride = ranks > 1 ? groups[0][1] - groups[0][0] : 1;
    std::vector<int> all;
    for (const auto& g : groups) all.insert(all.end(), g.begin(), g.end());
    return {compute_for(n, replay_.collective_time(asked, std::max(stride, 1)), all, after)};
  }
  if (c.kind == Collective::Kind::kSend) return to_or_from_first(n, groups, after);
  c.inner = ranks_of_a_node(groups, replay_.inner);
  c.channels = std::min(c.inner, replay_.channels);
  if (c.inner == 1 && c.algorithm == CollectiveAlgorithm::kHierarchical)
    c.algorithm = CollectiveAlgorithm::kRing;
  const auto [it, fresh] = sets_.try_emplace(groups, 0);
  if (fresh) it->second = collectives_.groups(groups);
  return collectives_.add(c, it->second, after);
}

}  // namespace orrery
