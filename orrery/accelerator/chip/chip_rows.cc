#include "orrery/accelerator/chip/chip_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery {
namespace {

// The cost of a reduction over rows. Operations count conversions from and to the 16-bit formats,
// comparisons, differences, sums, exponentials and quotients of each pass.
struct Reduction {
  double operations = 0, exponentials = 0;  // of an element
  double again = 0;                         // passes that read the row again
  double in_flight = 1;                     // rows of a core
};

// Rows held in registers: convert, compare, subtract, exponential, add, divide, convert. Wider ones
// in three passes: convert and compare; convert, subtract, exponential, add; convert, subtract,
// exponential, divide, convert.
constexpr Reduction kSoftmaxHeld{20, 1, 0, 16}, kSoftmaxWide{30, 2, 2, 0};
// Sum, squared difference, scaled difference, with two conversions; wider rows in two passes, the
// first with running means.
constexpr Reduction kNormHeld{7, 0, 0, 16}, kNormWide{10, 0, 1, 8};
// Rows in flight: a warp has a narrow row, of which 16 and more are there. PyTorch's compiler gives
// reductions of wide rows 256 of the 2,048 threads of a core; its softmax gives them a thread for 8
// elements and at most 1,024 threads (ATen/native/cuda/SoftMax.cu), so that two rows are the least.
constexpr double kLeastInFlight = 2;

Reduction reduction_of(const CoreChip& chip, const ChipRows& r) {
  const bool held = real(r.width) <= chip.core.vector.row_registers;
  Reduction wide = kSoftmaxWide;
  switch (r.kind) {
    case ChipRows::Kind::kSoftmax:
      if (held) return kSoftmaxHeld;
      wide.in_flight = std::clamp(chip.core.elements_in_flight / real(r.width), kLeastInFlight,
                                  kSoftmaxHeld.in_flight);
      return wide;
    case ChipRows::Kind::kNorm:
      return held ? kNormHeld : kNormWide;
    case ChipRows::Kind::kPointwise:
      break;
  }
  return {r.operations, r.exponentials, 0, std::numeric_limits<double>::infinity()};
}

// Seconds of all vector units for this number of operations and exponentials of every element. The
// two kinds are issued side by side. A row fills a whole number of vectors, and few rows leave
// units idle.
double vector_seconds(const CoreChip& chip, const ChipRows& r, const Reduction& per) {
  const double width = chip.core.vector.width;
  const double vectors = real(r.rows) * std::ceil(real(r.width) / width);
  const double units = real(chip.cores) * chip.core.lanes;
  const double at_once = std::min(units, vectors);
  const double share = at_once / units;
  return vectors * width / share *
         std::max(per.operations / chip.operations_per_second(),
                  per.exponentials / chip.exponentials_per_second());
}

}  // namespace

ChipRowsTime rows_time(const CoreChip& chip, const ChipRows& r) {
  const double elements = real(r.rows) * real(r.width);
  const double moved = elements * (r.read + r.written);
  const double sustained = 1 / (chip.memory.bandwidth.value() * chip.memory.sustained);
  const double l2 = std::min(sustained, 1 / chip.l2_bandwidth.value());
  const double cached = r.warm ? share_in_l2(chip, moved) : 0;
  const double byte = sustained + (l2 - sustained) * cached;

  const Reduction per = reduction_of(chip, r);
  const double again = elements * r.read * per.again;
  const double rows_at_once = std::min(per.in_flight * chip.cores, real(r.rows));
  const bool from_memory = rows_at_once * real(r.width) * r.read > chip.l2.value() / 2;
  const double vector = vector_seconds(chip, r, per);
  const double memory = moved * byte + again * (from_memory ? byte : l2);

  ChipRowsTime t;
  t.roofline = Bytes(moved * (1 - cached)) / chip.memory.bandwidth;
  t.vector = Seconds(vector);
  t.work.memory = moved * (1 - cached) + (from_memory ? again : 0);
  t.work.l2 = t.work.l1 = moved + again;
  t.work.vector_ops = elements * (per.operations + per.exponentials);
  const double work = std::max(memory, vector) + std::min(memory, vector) / per.in_flight;
  t.time = std::max(chip.kernel_floor + chip.memory.latency + Seconds(work), t.roofline);
  return t;
}

}  // namespace orrery
