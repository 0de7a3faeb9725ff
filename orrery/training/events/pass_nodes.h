// One pass of a micro-batch through a virtual stage as nodes of an execution trace
// (iteration_trace.h): computation between collectives, layer by layer.
//
// Neighbouring kernels of a layer are one node, which has their FLOPs and bytes and is named after
// the longest of them. Recomputation runs forward through a layer before the layer's backward pass,
// which runs in reverse order. A collective waits for the computation before it, and the
// computation after it for the collective. If the stack exposes only a share of a collective
// (chunk_time.h), as much of the computation that follows runs beside it as hides the rest.
//
// Weights that are sharded (ZeRO 3) are gathered a layer ahead, and gradients leave a layer behind,
// as data_overlap.h says.
#pragma once

#include <string>
#include <vector>

#include "orrery/training/iteration/chunk_time.h"

namespace orrery {

// A communicator: `ranks` ranks, each `distance` after the one before. Parallel dimensions that
// join the same ranks have a communicator each.
struct RankGroup {
  int ranks = 1, distance = 1;
  Collective::Group of = Collective::Group::kTensor;
  bool operator==(const RankGroup&) const = default;
  auto operator<=>(const RankGroup&) const = default;
};

struct PassNode {
  std::string name;
  Seconds time;        // of a collective the network's, which the trace does not state
  Flops operations;    // computation
  Bytes tensor;        // computation
  bool talks = false;  // it is a collective
  Collective::Kind kind = Collective::Kind::kAllReduce;
  Bytes bytes;      // of the collective
  RankGroup group;  // of the collective
  // Numbers of nodes of the pass; kBefore: everything that ran before the pass.
  static constexpr int kBefore = -1;
  std::vector<int> after;
};

struct PassNodes {
  std::vector<PassNode> nodes;
  // By layer in the order in which they run: the first node of its computation, and the last nodes
  // before the next layer.
  std::vector<int> layer_start;
  std::vector<std::vector<int>> layer_end;
  std::vector<int> ends;  // nodes for which the next pass waits

  // Time from the end of what ran before to the last of `ends`: computation one by one, the
  // collectives of a group one by one.
  Seconds length() const;
};

// The parts of a pass, all borrowed.
struct PassSource {
  const ChunkSetting& setting;
  const ChunkParts& parts;
  const std::vector<TrainingTerm>& terms;  // of the chunk
  RankPlacement place;
  bool scatters = true;  // gradients leave in this pass (not in the last one under ZeRO 2)
};

// The nodes. If their length is below `target`, the time of the pass at the event level, all
// computation takes longer by the same factor, so that both are equal: waiting for launches and for
// other ranks, and kernels slowed down by communication.
PassNodes pass_nodes(const PassSource& source, Pass pass, Seconds target);

}  // namespace orrery
