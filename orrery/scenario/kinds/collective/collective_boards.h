// The boards of a group during a collective: their power, and the time and the clock under a power
// limit or at a lower clock.
//
//   time     max(t * clock_factor, n * copies)     n: the reference clock over the clock
//   demand   awake + carried * t / t(n) + held * v(clock)
//
// A call of a collective is taken as a kernel bound by the memory, with the wires in the place of
// the memory (clock_factor of kernel/tiers/clocked_kernels.h): wires and the host do not follow the
// clock of the multiprocessors, and a part of the latencies that wires leave does. `copies` is the
// time in which the library's channels copy and reduce the bytes at the boost clock (library_rate
// of network/collectives/overlap.h), about half of that on the wires: below about half of the boost
// clock the copies decide. Nothing measured judges this: the time is a transferred figure.
//
// The power is that of a step which is nothing but collectives (energy/power/step_power.h). Of it
// `held` is what the multiprocessors of the library's kernel draw by being occupied, and follows
// the clock; `carried` is the rest of the term of collectives, and follows the rate of the bytes.
// awake is what the board draws between kernels.
#pragma once

#include <optional>

#include "orrery/energy/power/clock_power.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// A call at the reference clock.
struct CopyingCall {
  Seconds time;
  Seconds wires;   // of its bytes on the wires at their nominal rate
  Seconds copies;  // of its bytes through the library's channels at the boost clock; 0: not known
  int sms = 0;     // multiprocessors that the library's kernel holds; 0: not known
};

struct CallOnBoards {
  double longer = 1;  // the time over CopyingCall::time
  Estimate<Watts> power;
  std::optional<BoardClock> clock;  // where the knobs ask for one
};

// Nothing: no power of the boards is known, and no knob is asked for. NoData: one is. InputError:
// as check_knobs; Infeasible: as board_clock.
std::optional<CallOnBoards> call_on_boards(Facts& facts, const Gpu& gpu, const PowerKnobs& knobs,
                                           const CopyingCall& call);

// Adds `power` of a board, `energy` of all `gpus` boards in a call that takes `time`, and `clock`.
void add_boards(const CallOnBoards& boards, const Gpu& gpu, const PowerKnobs& knobs, int gpus,
                const Estimate<Seconds>& time, Point& point);

}  // namespace orrery
