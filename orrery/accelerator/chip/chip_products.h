// The time of a matrix product on a chip of cores, by a search over tiles.
//
// A product [m, k] x [k, n] is cut into tiles of results, one to a core at a time. Cores work in
// waves: each wave waits for its first operands, streams them from device memory through the L2
// into the local memories while the arrays multiply, and then writes its results. The last step
// overlaps with nothing, since the accumulators of a tile fill the core. A wave therefore takes
//
//   start + max(arrays, L1, L2, device memory read) + results written
//
// Operands that a panel of waves has in common are read once for the panel if it fits in half of
// the L2 (the other half is being filled); a product that is long in k may be split along it, which
// adds the partial sums' traffic. The search takes the fastest of all tiles whose sizes are powers
// of two and whose working set, doubled for the operands, fits in a core. It takes microseconds.
//
// The hierarchy is that of LLMCompass (ISCA 2024, section III-B); the closed form of a wave and the
// search are our own.
#pragma once

#include <cstdint>

#include "orrery/accelerator/chip/core_chip.h"

namespace orrery {

struct ChipProduct {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  double a = 2, b = 2, c = 2;       // bytes of an element of the operands and of the result
  Dtype arithmetic = Dtype::kBf16;  // whose rate the arrays have
  // The call is repeated on the same operands, as in a measuring loop, so that what fits in the L2
  // comes from there.
  bool warm = false;
};

// Traffic and operations of a kernel, for its energy.
struct ChipWork {
  double memory = 0, l2 = 0, l1 = 0;  // bytes
  double multiply_adds = 0, vector_ops = 0;
};

struct ChipProductTime {
  Seconds time;      // of the kernel, its floor included
  Seconds roofline;  // max(FLOPs / peak, bytes / bandwidth of the data sheet)
  // Share of the time, by what bounds the waves.
  Seconds arrays, memory;
  std::int64_t tile_m = 0, tile_n = 0, split_k = 1;  // of the fastest mapping
  double waves = 0;
  ChipWork work;
};

// NoData: the arrays do not multiply the number format.
ChipProductTime product_time(const CoreChip& chip, const ChipProduct& product);

// Share of `bytes` that a repeated call finds in the L2: all of up to 0.9 times its size, nothing
// from 1.25 times on, and linearly less between (the cache replaces at random).
double share_in_l2(const CoreChip& chip, double bytes);

}  // namespace orrery
