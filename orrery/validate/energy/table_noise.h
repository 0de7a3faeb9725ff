// The noise of the table of kernel power: how far other readings miss a reading.
//
// A reading of a call is predicted by the geometric mean of the other readings of the very same
// call (GPU, framework, kernel class and all sizes), where it was read more than once, and by the
// nearest readings of other calls that a fit may see (NearestReadings of twin_readings.h). No model
// that knows the call alone can be expected to miss less than another reading of it does, over the
// square root of two: that reading holds noise, too. Errors are relative to the reading that is
// predicted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/energy/power/board_power.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

// Readings of the very same call in the place of a model: as near to it as a reading can be. Steady
// readings, which are read once, and rows that repeat a reading are left out. Borrows `rows`.
class SameCalls {
 public:
  explicit SameCalls(const std::vector<KernelPowerRow>& rows);

  // The geometric mean of the other readings of the call on its GPU; 0: it was read once.
  Watts again(const KernelPowerRow& call) const;
  // The power of the call on `board`, that of its own GPU, by its readings on other GPUs: each
  // draws a share of what its board has left above the awake power, and the power is the geometric
  // mean of what follows from these shares. 0: no other GPU has read it. `boards`: of the others.
  Watts elsewhere(const KernelPowerRow& call, const BoardPowers& boards,
                  const BoardPower& board) const;

 private:
  std::map<std::string, std::vector<const KernelPowerRow*>> calls_;  // on all GPUs
};

struct ReadingsMiss {
  std::size_t calls = 0;
  double mean = 0, median = 0;  // of |predicted / read - 1|
};

// Other readings of the same call in the place of a model, over calls of at least `from` and below
// `to`. Steady readings, which are read once, do not count.
ReadingsMiss same_call_misses(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to);

// The four nearest readings in the place of a model, over left-out calls.
ReadingsMiss nearest_misses(const std::vector<KernelPowerRow>& rows, Seconds from, Seconds to);

// Sentences with both, for calls of 0.1 ms and more and for shorter ones, by length.
std::string note_of_readings(const std::vector<KernelPowerRow>& rows);

}  // namespace orrery
