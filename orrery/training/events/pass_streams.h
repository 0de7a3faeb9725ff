// What stands on a stage's other streams beside a pass: for the timeline. All transfers of a pass
// count as one of each kind; a pass's length says already what of them is exposed.
#pragma once

#include <vector>

#include "orrery/training/events/pipeline_types.h"

namespace orrery {

struct PassTransfer {
  TimelineEvent::Kind kind;
  Stream stream;
  Seconds start, end;
  bool forward = true;  // of a pair: of its forward
};

// Of a pass alone: tensor- and context-parallel communication and offloaded tensors from its start,
// dispatch and combine around the experts' computation. A backward that is split in two shows all
// with the first.
std::vector<PassTransfer> transfers_beside(const ScheduledChunk& times, Pass pass, Seconds start,
                                           Seconds end);

// Of a pair: the exchange in its four slots, stretched to its length.
std::vector<PassTransfer> transfers_beside(const PairSlots& slots, Seconds start, Seconds end);

}  // namespace orrery
