// Replays Chakra traces as a program for the flow simulation.
//
// Ranks with equal traces run as one class. The peers of sends and receives are counted from the
// rank that has the node, and the groups that a trace names may have other names in each rank's. A
// single trace, or several equal ones, stands for every GPU of the topology: a peer is a GPU at the
// same distance, modulo the number of GPUs. Different traces need one for each GPU.
//
//   Computation  A COMP_NODE takes its duration, or else max(num_ops / peak, tensor_size / memory
//                bandwidth). A GPU computes one node at a time, in an order that respects the
//                dependencies and then the places in the file. A MEM node without a duration takes
//                tensor_size / memory bandwidth. METADATA and INVALID nodes take no time.
//   Collectives  A collective runs on the group that pg_name names, else on the dimensions of
//                involved_dim, else on all ranks. The k-th collectives of a group in each rank's
//                order are one collective, and follow each other. comm_size is the input of one
//                rank. A reduce takes the time of a broadcast, a barrier that of an all-reduce
//                without bytes. A gather is a message of comm_size from every rank to the first
//                one, a scatter a message of comm_size / ranks from the first rank to every other
//                one; by analytical times each is a send of all bytes over the first rank's link.
//   Messages     A send and the receive of the same pair and tag are one message, which begins when
//                both are ready.
#pragma once

#include <vector>

#include "orrery/flow/chakra/chakra.h"
#include "orrery/flow/chakra/chakra_types.h"
#include "orrery/flow/simulation/flow_program.h"

namespace orrery {

// InputError: different traces whose number is not that of the GPUs, a node without a time, a
// message that is sent but not received, a collective that a rank of its group does not reach or
// that has another type or size there, ranks that wait for each other.
FlowProgram chakra_program(const std::vector<ChakraTrace>& traces, const ChakraReplay& replay);

}  // namespace orrery
