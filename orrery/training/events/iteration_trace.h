// One iteration of training as Chakra execution traces (orrery/flow/chakra/chakra.h), one for each
// rank, for ASTRA-sim and for `orrery network --chakra`.
//
// A rank runs the tasks of its stage in the order of the schedule. The nodes of a pass are those of
// pass_nodes.h; the nodes of a pair of passes alternate, so that each hides the other's exchange.
// Inputs of other stages arrive by a receive, whose send waits for the pass that makes them.
//
// Gradients are reduced while the last backward pass of a chunk makes them, bucket by bucket, and
// updated weights arrive while its first forward pass uses them. Of both, the share that the stack
// exposes in any case (DataShares) follows the last pass, and the optimizer's step. A step takes
// the kernel's time, or the host's, and the time in which the GPU waits for the host. The wait for
// the slowest rank of the job (slowest_rank.h) ends the iteration of every rank.
//
// A trace states no time of a collective or message: who replays it says how fast they are. A
// replay with the network that predicted the iteration gives its time, but for these:
//   - durations are whole microseconds
//   - transfers over a shared port slow each other down only where the replay simulates links
//   - messages between stages go at the rate of the links
//   - DeepEP's exchanges (the dispatcher flex) are replayed as all-to-alls of the same copies
//   - constants below 1 for communication of sharded weights
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The parts of an iteration, all borrowed.
struct IterationSource {
  const IterationModel& iterations;
  const IterationParts& parts;
  const TrainingConstants& constants;
  const TrainingJob& job;
  const StackTraits& stack;
  Seconds paging;  // of a paged optimizer's step
};

// The files by the ends of their names: "0.et", "1.et", ... of the ranks, and "groups.json", the
// ranks of every group (ASTRA-sim's communicator groups), whose numbers are the traces' pg_name.
// InputError: more than two gigabytes, or a group of ranks that does not divide the job evenly.
std::vector<std::pair<std::string, std::string>> iteration_traces(const IterationSource& source);

}  // namespace orrery
