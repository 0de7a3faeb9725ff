// The way out of the front end of an engine, or of each of its data-parallel ranks (vLLM starts as
// many servers of the API as ranks): one process (detokeniser and server) delivers the tokens of
// one step after those of the step before, and within a step one sequence after the other. Tokens
// that it cannot deliver at once wait, and first tokens wait with all others.
//
// An engine does not wait for its front end. If it makes tokens faster than they are delivered, the
// queue grows until answers end; users who wait for their last token then send fewer requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

class FrontEndDelivery {
 public:
  // `each`: time for what a step made of one sequence. `past`: additional time for each token of
  // its answer before that.
  explicit FrontEndDelivery(SimTime each, SimTime past = {}) : each_(each), past_(past) {}

  // The time at which what a step made of `sequences` sequences by `made` is delivered, whose
  // answers have `before` other tokens in all.
  SimTime deliver(SimTime made, std::int64_t sequences, std::int64_t before) {
    free_ = std::max(free_, made) + each_ * sequences + past_ * before;
    return free_;
  }
  // The same for one sequence without other tokens.
  SimTime deliver(SimTime made) { return free_ = std::max(free_, made) + each_; }
  // Whether the front end waits for consecutive steps, each of `sequences` sequences, whose first
  // ends at `made` and which end at least `apart` after each other: then the tokens of each are
  // delivered lag() after its end.
  bool waits(SimTime made, std::int64_t sequences, SimTime apart) const {
    return free_ <= made && lag(sequences) <= apart;
  }
  SimTime lag(std::int64_t sequences) const { return each_ * sequences; }
  // The same for consecutive steps, each of `sequences` sequences, which end at `made`.
  void deliver(std::span<const SimTime> made, std::int64_t sequences, SimTime* delivered) {
    const SimTime takes = each_ * sequences;
    SimTime free = free_;
    for (const SimTime t : made) *delivered++ = free = std::max(free, t) + takes;
    free_ = free;
  }

 private:
  SimTime each_, past_;
  SimTime free_;  // when all before is delivered
};

}  // namespace orrery
