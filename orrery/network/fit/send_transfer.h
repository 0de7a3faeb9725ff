// The send between two GPUs of a fabric on which none was measured.
//
// A send is a kernel of the library over the same wires as a step of a ring of two GPUs. So what
// its start and its share of the wires have more than those of the ring is taken over from a fabric
// where both were measured, and the rest is the fabric's own: GPUs differ in the start of a kernel,
// and in what their multiprocessors copy at a time.
#pragma once

#include <vector>

#include "orrery/network/collectives/network_constants.h"

namespace orrery {

// The library's ring that reduces, among the curves of a fabric; nullptr: none.
const FittedCurve* reducing_ring(const std::vector<FittedCurve>& curves);

// `send`, measured beside `its_ring`, on the fabric of `ring`. It has no rows of its own.
FittedCurve transferred_send(const FittedCurve& send, const FittedCurve& its_ring,
                             const FittedCurve& ring);

}  // namespace orrery
