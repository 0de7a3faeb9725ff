// A part of a long trace that stands for all of it in the first rounds of a search.
//
// The part consists of stretches of consecutive requests, so that bursts, the order of lengths and
// the turns of conversations stay as they are within each. The stretches lie in equal distances
// over the whole trace, so that busy and quiet times have the shares that they have in it. Each
// follows the one before after the mean time between two arrivals, without the time that was left
// out; a queue at the end of one is still there at the start of the next.
//
// A stretch has at least kLeastStretch requests, and those that arrive in kLeastStretchTime at the
// mean rate. There are eight of them, or four, or two, and together they are at most half of the
// trace; a trace of which two are more than that, or of at most kShort requests, is not thinned.
//
// A turn whose turn before was left out arrives at its time in the trace. Prompts of requests that
// were left out are not in the prefix cache.
#pragma once

#include <optional>

#include "orrery/serving/requests/request.h"

namespace orrery {

inline constexpr std::int64_t kShort = 50'000, kLeastStretch = 2'500;
inline constexpr Seconds kLeastStretchTime = Seconds(60);

struct ThinnedLoad {
  RequestLoad load;
  std::int64_t stretches = 0;
};

// Nothing: the load is not thinned.
std::optional<ThinnedLoad> thinned(const RequestLoad& load);

// The load with arrivals at `factor` times their rate. Delays between turns stay as they are.
RequestLoad at_times_rate(RequestLoad load, double factor);

}  // namespace orrery
