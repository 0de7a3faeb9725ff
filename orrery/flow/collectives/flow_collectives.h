// Collectives as streams of messages for the flow simulation.
//
//   FlowProgram program;
//   FlowCollectives collectives(program);
//   auto tp = collectives.groups(strided_groups(8, 1, 64));      // 0-7, 8-15, ... of 64 GPUs
//   auto done = collectives.add({.kind = Collective::Kind::kAllReduce,
//                                .algorithm = CollectiveAlgorithm::kRing,
//                                .bytes = Bytes(1e9)}, tp);
//   collectives.add({...}, tp, done);                            // after it
//
// `bytes` is that of Collective (op.h): the whole buffer; for an all-to-all all that a rank sends,
// its own share included. The algorithms are those with a FLOW entry in collective_algorithms.def;
// each has a file of its own here, which describes its messages.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/workload/ops/collective_algorithm.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The algorithm of that name; InputError, with the nearest name, if the flow level does not have
// it.
CollectiveAlgorithm parse_flow_algorithm(std::string_view text);

struct FlowCollective {
  Collective::Kind kind = Collective::Kind::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  Bytes bytes;
  // Number of neighbouring ranks of a group in one node. Several channels, trees and hierarchies
  // need groups that are made of such runs.
  int inner = 1;
  int channels = 1;  // of rings and trees, 1 .. inner: each enters a node at another GPU
  // Parts in which chains, trees and hierarchies pass on the buffer. 0: parts of 512 KiB, the
  // slices of NCCL's Simple protocol (a buffer of 4 MiB a channel in 8 steps), but at most 64, or 4
  // of a hierarchy.
  int chunks = 0;
  std::string name;  // of the operations; empty: the kind's
};

// Divides the GPUs 0 .. gpus-1 into groups of `ranks` GPUs whose numbers differ by `stride`.
// InputError: the groups do not divide the GPUs.
std::vector<std::vector<int>> strided_groups(int ranks, int stride, int gpus);

class FlowCollectives {
 public:
  // Appends to `program`, which must outlive it.
  explicit FlowCollectives(FlowProgram& program) : program_(program) {}

  // Registers groups of GPUs that run a collective at the same time; returns the number to pass to
  // add(). InputError: a GPU twice, an empty group.
  int groups(std::vector<std::vector<int>> groups);

  // Appends the operations of the collective on all groups, to run after the operations `after`.
  // Returns the operations at whose end the collective has ended. InputError: bytes negative or not
  // finite, a kind that the algorithm does not have, a number of ranks that is no power of two or
  // no multiple of `inner` where the algorithm needs it. A group of one rank, or no bytes, takes no
  // time.
  std::vector<int> add(const FlowCollective& collective, int groups,
                       const std::vector<int>& after = {});

  // The groups cut into runs of `inner` ranks: the runs, and the groups of the ranks at the same
  // place of every run. Numbers as of groups(). REQUIRES groups made of such runs.
  std::pair<int, int> split(int groups, int inner);

 private:
  // Groups, kind, algorithm, chunks, and inner with channels.
  using Key = std::tuple<int, int, int, int, int>;

  void check(const FlowCollective& c, int groups) const;
  int append(const FlowCollective& c, int pattern, std::vector<int> after);

  FlowProgram& program_;
  std::vector<std::vector<std::vector<int>>> groups_;
  std::map<Key, int> patterns_;  // for a buffer of one byte, each made once
  std::map<std::pair<int, int>, std::pair<int, int>> split_;  // of split()
};

}  // namespace orrery
