// Folds the symmetry of a program on a topology: GPUs, links and streams that behave alike become
// one class each, so that the simulation handles a class instead of its members.
//
// The classes are the coarsest equitable partition (colour_refinement.h). Streams of one class have
// equal messages, cross links of the same classes, wait for streams of the same classes, and begin
// and end at GPUs of the same classes; every link of a class carries the same number of streams of
// each class. By induction over time, all members of a class do the same at every instant: the
// folded simulation gives the same times as the whole one. A failed link, a straggler or a level of
// a tree breaks the symmetry as far as it reaches, and no further.
//
// Signatures are 64-bit hashes. Two different elements whose hashes agree by chance (about size^2 /
// 2^65) would become one class.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/flow/simulation/fair_share.h"
#include "orrery/flow/simulation/flow_program.h"
#include "orrery/flow/topology/topology.h"

namespace orrery {

struct FoldedFlows {
  struct Wait {
    std::int32_t other = 0;  // class of streams
    std::int32_t lag = 0;    // as FlowPattern::Wait
  };
  struct StreamClass {
    std::int32_t from = 0, to = 0;     // classes of GPUs
    Bytes bytes;                       // of one message, at a scale of 1
    std::int32_t count = 1;            // messages
    Seconds latency;                   // of all links on the path
    std::vector<FairShare::Use> uses;  // classes of links; times: streams of the class on one link
    std::vector<Wait> waits;
    std::int64_t members = 0;
  };
  struct LinkClass {
    LinkId sample = 0;  // a member
    BytesPerSecond capacity;
    std::int64_t members = 0;
  };
  std::vector<StreamClass> streams;                // grouped by pattern
  std::vector<std::int32_t> first_stream;          // of each pattern, and the end
  std::vector<LinkClass> links;                    // those that any stream crosses
  std::vector<std::int32_t> gpu_class;             // of each GPU
  std::vector<std::int32_t> gpu_sample;            // a member of each class
  std::vector<std::vector<std::int32_t>> members;  // classes of GPUs in each pattern, sorted
  std::int64_t unfolded_streams = 0;
};

// `fold` false gives every GPU, link and stream a class of its own, to check the folding.
// InputError: a stream between GPUs that the topology does not have or does not connect, an
// operation with GPUs or patterns that do not exist.
FoldedFlows fold_flows(const Topology& topology, const FlowProgram& program, bool fold = true);

}  // namespace orrery
