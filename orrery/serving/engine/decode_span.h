// A span of decode steps at one rank: consecutive steps in which the same sequences decode and
// nothing else happens. What every step of them changes is done for all at once, without asking the
// scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "orrery/serving/engine/delivery.h"
#include "orrery/serving/engine/held_time.h"
#include "orrery/serving/engine/replica_observer.h"
#include "orrery/serving/state/engine_state.h"

namespace orrery {

class DecodeSpan {
 public:
  static constexpr std::size_t kMost = 64;  // steps

  // The first step starts at `now`, and they take `times`, one after the other. Returns the number
  // of steps that start before `limit`, at least one. REQUIRES now < limit, and at most kMost
  // times.
  std::size_t begin(SimTime now, std::span<const SimTime> times, SimTime limit);

  // The members of the decode group take the blocks of `n` steps, and `held` counts what the steps
  // hold. Returns the number of steps before too few blocks are free for one. `async`: a step is
  // planned while the one before runs.
  std::size_t take_blocks(std::size_t n, std::span<const SimTime> times, bool async,
                          EngineState& state, HeldTime& held);

  // The tokens of `n` steps go out. Returns when those of the last one are delivered.
  SimTime deliver(std::size_t n, std::span<const SimTime> times, const Replica& from,
                  FrontEndDelivery& delivery, ReplicaObserver& observer);

  // The times at which the `n` steps start, and the end of the last one.
  std::span<const SimTime> ends(std::size_t n) const { return {ends_.data(), n + 1}; }

 private:
  std::array<SimTime, kMost + 1> ends_;
  std::array<SimTime, kMost> gaps_;  // between deliveries of the tokens of consecutive steps
};

}  // namespace orrery
