// The time of softmax, norms and elementwise work on the vector units of a chip of cores.
#pragma once

#include <cstdint>

#include "orrery/accelerator/chip/chip_products.h"
#include "orrery/accelerator/chip/core_chip.h"

namespace orrery {

// Operations of a vector unit on one element, a multiply-add as one, besides the exponential
// instruction itself. An exponential in fp32 takes 7 around it (range reduction and scaling) and a
// quotient 8 (reciprocal, two steps of Newton, rounding), as NVIDIA's compiler emits them for expf
// and for division. A GELU by tanh, 0.5 x (1 + tanh(0.80 x (1 + 0.045 x^2))), takes 20 in all.
inline constexpr double kGeluOperations = 20;

// Work on `rows` rows of `width` elements.
struct ChipRows {
  enum class Kind {
    kSoftmax,   // maximum, sum of exponentials, quotients
    kNorm,      // mean, variance, scaled differences
    kPointwise  // every element alone
  };
  Kind kind = Kind::kPointwise;
  std::int64_t rows = 1, width = 1;
  double read = 2, written = 2;  // bytes of an element, all operands and results together
  double operations = 1, exponentials = 0;  // of an element, for pointwise work
  bool warm = false;                        // as in ChipProduct
};

struct ChipRowsTime {
  Seconds time;      // of the kernel, its floor included
  Seconds roofline;  // the bytes over the bandwidth of the data sheet
  Seconds vector;    // of the vector units
  ChipWork work;
};

// A row that is wider than a vector unit's registers is read again in each later pass: twice in a
// softmax, which then computes its exponentials twice, and once in a norm; from the L2, or from
// device memory if the rows in flight fill more than half of the L2. A row passes through memory
// and vector unit one after the other, and a core works on a few rows r at a time. The time is
// therefore
//
//   floor + latency + max(memory, vector) + min(memory, vector) / r
//
// and without the last term for pointwise work, of which thousands of elements are in flight.
ChipRowsTime rows_time(const CoreChip& chip, const ChipRows& rows);

}  // namespace orrery
