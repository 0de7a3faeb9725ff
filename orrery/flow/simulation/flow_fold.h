// Folds the symmetry of a program on a topology: GPUs, links and streams that behave alike become
// one class each, so that the simulation handles a class instead of its members.
//
// The classes are the coarsest equitable partition (colour refinement). Streams of a class have
// equal messages, cross links of the same classes, wait for streams of the same classes, and begin
// and end at GPUs of the same classes; over every link of a class go as many streams of each class.
// By induction over time all members of a class then do the same at every instant: the folded
// simulation gives the same times as the whole one. A failed link, a straggler or a tier of a tree
// breaks the symmetry as far as it reaches, and no further.
//
// Cost: O(size log size) or so. Signatures are 64-bit hashes; two that agree by chance (about
// size^2 / 2^65) would merge what differs.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/flow/simulation/fair_share.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/flow/topology/topology.h"

namespace orrery {

struct FoldedFlows {
  struct Wait {
    std::int32_t other = 0;  // stream class
    std::int32_t lag = 0;
  };
  // Of each class of streams, grouped by pattern.
  struct StreamClass {
    std::int32_t from = 0, to = 0;  // classes of GPUs
    double bytes = 0;
    std::int32_t count = 1;
    double latency = 0;                // s
    std::vector<FairShare::Use> uses;  // classes of links; times: streams of the class on a link
    std::vector<Wait> waits;
    std::int64_t members = 0;
  };
  struct LinkClass {
    LinkId sample = 0;  // a member
    double capacity = 0;
    std::int64_t members = 0;
  };
  std::vector<StreamClass> streams;
  std::vector<std::int32_t> first_stream;  // of each pattern, and the end
  std::vector<LinkClass> links;            // that any stream crosses
  std::vector<std::int32_t> gpu_class;     // of each GPU
  std::vector<std::int32_t> gpu_sample;    // of each class, a member
  // Classes of GPUs that take part in each pattern, sorted.
  std::vector<std::vector<std::int32_t>> members;
  std::int64_t unfolded_streams = 0;
};

// `fold` false keeps every GPU, link and stream apart (to check the folding). InputError: a stream
// between GPUs that the topology does not have or does not connect, an operation of GPUs or
// patterns that are not there.
FoldedFlows fold_flows(const Topology& topology, const FlowProgram& program, bool fold = true);

}  // namespace orrery
