// Collectives as streams of messages for the flow simulation.
//
//   FlowProgram program;
//   FlowCollectives collectives(program);
//   auto tp = collectives.groups(strided_groups(8, 1, 64));      // 0-7, 8-15, ... of 64 GPUs
//   auto done = collectives.add({.kind = Collective::Kind::kAllReduce,
//                                .algorithm = FlowAlgorithm::kRing, .bytes = Bytes(1e9)}, tp);
//   collectives.add({...}, tp, done);                            // after it
//
// `bytes` is that of Collective (op.h): the whole buffer; for an all-to-all what a rank sends in
// all, its own share included. With n ranks and a buffer of S:
//
//   ring            all-reduce 2(n-1), reduce-scatter and all-gather n-1 messages of S/n from each
//                   rank to the next, each after the one before has come in; broadcast, reduce: a
//                   chain in chunks from the first rank, or to it. Several channels divide the
//                   buffer: channel c goes round every node from its GPU c, and so through port c
//                   (`inner` GPUs a node).
//   bidirectional   half of the buffer each way round
//   tree            broadcast down a binary tree, reduce up it, in chunks; an all-reduce does both
//                   on two trees, each with half of the buffer, the leaves of one being inner
//                   vertices of the other (Sanders et al. 2009; NCCL). The vertices are runs of
//                   `inner` ranks: a chain in each node; channels as those of a ring
//   halving-doubling  log2 n exchanges of S/2, S/4, ... with partners n/2, n/4, ... away, and back
//                   (Thakur et al. 2005); n a power of two
//   direct          to every other rank at once, S/n each; an all-reduce in two such phases
//   hierarchical    reduce-scatter inside each run of `inner` ranks, the same collective between
//                   ranks of the same place, all-gather inside, in `chunks` that follow each other
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class FlowAlgorithm {
  kRing,
  kBidirectionalRing,
  kTree,
  kHalvingDoubling,
  kDirect,
  kHierarchical
};
std::string_view to_text(FlowAlgorithm algorithm);
// By to_text's names; InputError naming the nearest.
FlowAlgorithm parse_flow_algorithm(std::string_view text);

struct FlowCollective {
  Collective::Kind kind = Collective::Kind::kAllReduce;
  FlowAlgorithm algorithm = FlowAlgorithm::kRing;
  Bytes bytes;
  int inner = 1;     // ranks of a group next to each other in one node: channels, hierarchy
  int channels = 1;  // of rings and trees, 1 .. inner
  int chunks = 0;  // of chains, trees and hierarchies; 0: of 512 KiB each (NCCL's slices), at most
                   // 64, of hierarchies at most 4
  std::string name;  // of the operations
};

// All groups of `ranks` GPUs `stride` apart in 0 .. gpus-1, side by side. InputError: they do not
// divide the GPUs.
std::vector<std::vector<int>> strided_groups(int ranks, int stride, int gpus);

class FlowCollectives {
 public:
  explicit FlowCollectives(FlowProgram& program) : program_(program) {}

  // Groups of GPUs that each run a collective at the same time; the number to pass to add().
  // InputError: a GPU twice, an empty group.
  int groups(std::vector<std::vector<int>> groups);

  // Appends the operations of the collective on all groups, after others of the program. Returns
  // those that later ones have to come after. InputError: bytes negative or not finite, a kind that
  // the algorithm does not have, ranks that are no power of two or not divided by `inner` where the
  // algorithm needs it. A group of one rank, or no bytes, takes no time.
  std::vector<int> add(const FlowCollective& collective, int groups,
                       const std::vector<int>& after = {});

 private:
  using Key = std::tuple<int, int, int, int, int, int>;
  // The pattern of one phase for a buffer of one byte, made once.
  template <class Make>
  int pattern(const Key& key, Make make);
  int op(const FlowCollective& c, int pattern, std::vector<int> after);
  std::vector<int> hierarchical(const FlowCollective& c, int groups, const std::vector<int>& after);

  FlowProgram& program_;
  std::vector<std::vector<std::vector<int>>> groups_;
  std::map<Key, int> patterns_;
  std::map<std::pair<int, int>, std::pair<int, int>> split_;  // groups and inner: inside, between
};

}  // namespace orrery
