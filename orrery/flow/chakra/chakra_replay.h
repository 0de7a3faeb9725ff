// Chakra traces as a program for the flow simulation.
//
// Ranks whose traces are the same, sends and receives counted from the rank that has them, run as
// one. A single trace (or several that are all the same) is taken for every GPU of the topology,
// however many: peers then are so many GPUs further on, round the end. Otherwise there is a trace
// for every GPU.
//
// - COMP_NODEs take their duration, or without one max(num_ops / peak, tensor_size / memory
//   bandwidth). A GPU computes one at a time, in an order that respects the dependencies and the
//   nodes' places in the file. MEM nodes take tensor_size / memory bandwidth where they have no
//   duration, METADATA and INVALID nodes no time.
// - A collective runs on the group that pg_name names, or on the dimensions of involved_dim, or on
//   all ranks; the k-th one of a group in each rank's order belong together, and follow each other.
//   comm_size is the input of one rank. A reduce is timed as a broadcast, a barrier as an
//   all-reduce of no bytes. A gather is a message of comm_size from every rank to the first one, a
//   scatter one of comm_size / ranks from the first to every other; by analytical times, a send of
//   all that passes the first rank's link.
// - A send and the receive of the same pair and tag are one message, which begins when both are
//   ready.
#pragma once

#include <vector>

#include "orrery/flow/chakra/chakra.h"
#include "orrery/flow/chakra/chakra_types.h"
#include "orrery/flow/simulation/flow_program.h"

namespace orrery {

// InputError: traces that differ and are not one for each GPU, a node without time, a message that
// is sent but not received, a collective that some rank of its group does not come to or comes to
// with another type or size, ranks that wait for each other.
FlowProgram chakra_program(const std::vector<ChakraTrace>& traces, const ChakraReplay& replay);

}  // namespace orrery
