// A question about communication alone: one collective over a group of GPUs, without a model.
//
//   hardware: {node: hgx-h100}            # its usual GPU and network; or {gpu: h100-sxm}
//   collective: {kind: all-reduce, bytes: 1K-16G*4, gpus: [8, 64, 1024]}
//
// The answer has a point for each group size and message size, with the time of one call, algbw
// (bytes / time), busbw (nccl-tests' convention), the least time that the wires allow, algorithm,
// protocol and why NCCL takes them.
//
//   collective: {kind: all-reduce, nodes: [8 hgx-h100, 4 hgx-a100]}
//
// is one group of all GPUs of nodes that differ, in place of `hardware` (mixed_network.h).
//
//   collective: {kind: moe-dispatch, gpus: 32, tokens: 4096, hidden: 7168, top_k: 8}
//
// asks for the kernels of DeepEP (expert_exchange.h): bytes follow from tokens, hidden and top_k.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/scenario/kinds/collective/flow_question.h"

namespace orrery {

struct QuestionKind;

struct CollectiveQuestion {
  std::string kind = "all-reduce";
  std::int64_t bytes = 64 << 20;  // nccl-tests' size (Collective::bytes of workload/op.h)
  // GPUs of the group; none: 8, or at flow level all of the topology.
  std::optional<std::int64_t> gpus;
  // Nodes that differ, in the order of ranks: "8 hgx-h100"; the group is all their GPUs.
  std::vector<std::string> nodes;
  int stride = 1;     // between its members; all groups of the kind run at once
  std::string stack;  // empty: library_of
  // "auto", a name of collective_algorithm.h, or "hierarchical": an all-reduce as a reduce-scatter
  // within the nodes, an all-reduce between them, and an all-gather within.
  std::string algorithm = "auto";
  std::string protocol = "auto";
  // The version of NCCL: "2.27", "2.27.3". If it is empty, the version is the measured one.
  std::string nccl_version;
  // How the host launches the kernels (host_launches.h): "eager" or "graph", and for eager launches
  // the GPUs for which one thread launches, as `-g` of nccl-tests.
  std::string launch = "eager";
  std::int64_t gpus_per_thread = 1;

  // The keys of moe-dispatch and moe-combine.
  std::string mode = "normal";
  ExpertExchange exchange;
  std::int64_t tokens = 4096;  // tokens of one rank

  FlowQuestion flow;

  // Whether the question is about an exchange of experts, whose size is given in tokens.
  bool is_exchange() const { return kind.starts_with("moe-"); }
};

// Defined by the kind (collective_kind.cc).
const QuestionKind& kind_of(const CollectiveQuestion& question);

// The library of a question that names none: the one that its trace names (`of_trace`, if any),
// else NCCL.
std::string library_of(const std::string& stack, const std::string& of_trace = "");

// GPUs of a collective that says nothing about them.
inline constexpr std::int64_t kUsualCollectiveRanks = 8;
// The largest number of GPUs that a collective may span.
inline constexpr std::int64_t kMostCollectiveRanks = 1'000'000;
// The name of the all-reduce that reduces within nodes first.
inline constexpr std::string_view kHierarchicalAllReduce = "hierarchical";

// The names of kinds: Collective::Kind's in its order, then moe-dispatch and moe-combine.
const std::vector<std::string>& collective_names();

void declare(Fields& fields, CollectiveQuestion& question);

}  // namespace orrery
