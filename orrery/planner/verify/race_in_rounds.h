// A race on a long trace.
//
// Fleets are tried with a part of the trace (bound/thinned_load.h). The options that are ranked
// first then, at least kRacedAgain of them, race again on all of the trace, which finds their
// numbers of engines anew; the plans are the best of these. What the part ranks lower is left out
// by the part alone. A load that is not thinned has one race.
#pragma once

#include "orrery/planner/verify/race.h"

namespace orrery {

inline constexpr std::int64_t kRacedAgain = 5;

// The plans of the race and the reasons for which others were left out, as race() gives them.
// RaceResult::best_of_part is set if the load is thinned: it is the plan that was ranked first on
// the part. Errors are those of race().
RaceResult race_in_rounds(const Scenario& question, const PlannedLoad& load,
                          const FirstStage& first, Trials& trials);

}  // namespace orrery
