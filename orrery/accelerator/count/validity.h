// Whether a chip can run a mapping, and if not, why.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/count/timeloop_count.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

struct Violation {
  enum class Kind {
    kCapacity,  // the tiles that a level keeps exceed its words
    kFanOut,    // loops in space exceed an axis of the array below a level
  };
  Kind kind = Kind::kCapacity;
  int level = 0;
  int axis = 0;  // of kFanOut
  double needed = 0, available = 0;
};

// Loops in space against the arrays. Empty: the mapping fits.
std::vector<Violation> fan_out_violations(const Chip& chip, const Mapping& mapping);

// Tiles against capacities: the tiles of a level together take at most its words divided by
// `multiple_buffering`, rounded down (the rule of Timeloop).
std::vector<Violation> capacity_violations(const Chip& chip, const NestCounts& counts);

// A sentence with the level, the tensors and the words that are missing.
std::string to_text(const Violation& violation, const Einsum& problem, const Chip& chip,
                    const NestCounts& counts);

}  // namespace orrery
