// The transfers on a stage's other streams during a pass, for the timeline. All transfers of one
// kind in a pass are drawn as one. The length of a pass already includes their exposed part.
#pragma once

#include <vector>

#include "orrery/training/events/pipeline_types.h"

namespace orrery {

struct PassTransfer {
  TimelineEvent::Kind kind;
  Stream stream;
  Seconds start, end;
  bool forward = true;  // of a pair: the transfer belongs to its forward
};

// The transfers of a pass that is not paired: tensor- and context-parallel communication and copies
// of saved tensors from its start on, dispatch and combine before and after the experts'
// computation. A backward pass that is split in two has all of them in the pass of the input.
std::vector<PassTransfer> transfers_during(const ScheduledChunk& times, Pass pass, Seconds start,
                                           Seconds end);

// The transfers of a pair: the exchange in its four slots, stretched to the length of the pair.
std::vector<PassTransfer> transfers_during(const PairSlots& slots, Seconds start, Seconds end);

}  // namespace orrery
