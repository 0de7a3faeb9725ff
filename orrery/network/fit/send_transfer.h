// The send between two GPUs of a fabric on which none was measured.
//
// A send is a kernel of the library over the same wires as a step of a ring of two GPUs. So what
// its start and its share of the wires have more than those of the ring is taken over from a fabric
// where both were measured, and the rest is the fabric's own: GPUs differ in the start of a kernel,
// and in what their multiprocessors copy at a time.
//
// The start of a ring holds a part of the host of the machine that was measured (table_hosts.h).
// A pair of GPUs on a wire that nobody measured has another host. Its send has the start that the
// measured sends have in common.
#pragma once

#include <vector>

#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// The library's ring that reduces, among the curves of a fabric; nullptr: none.
const FittedCurve* reducing_ring(const std::vector<FittedCurve>& curves);

// `send`, measured beside `its_ring`, on the fabric of `ring`. It has no rows of its own.
FittedCurve transferred_send(const FittedCurve& send, const FittedCurve& its_ring,
                             const FittedCurve& ring);

// The start T0 of the sends of several groups of rows, a GPU on a fabric each: T0 and s, the share
// of the nominal bandwidth B, minimise the mean over groups of the mean Huber loss (0.1) of
// ln(T / measured), where T = T0 + bytes / (s B). T0 is between 0.4 and 160 us, s at most
// kMostEfficiency. Zero: there is no group. REQUIRES that no group is empty.
Seconds start_of_sends(const std::vector<std::vector<MeasuredCollective>>& groups);

}  // namespace orrery
