// A GPU as the physics of kernels sees it: its data sheet, and quantities that follow from it
// alone.
//
// The quantities are computed once, so that a look-up of a kernel multiplies and does not divide.
#pragma once

#include <array>
#include <cstdint>

#include "orrery/base/index.h"
#include "orrery/base/quick_math.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

// Bandwidth of the L2 cache for a kernel that reads all of an operand from it: kL2BytesPerClock
// bytes per clock and compute unit, limited to 1.25 to 5 times the bandwidth of device memory.
// Fitted on repeated decode attention (docs/data.md, kernel sweeps): 1.1 times on H200, 1.4 on
// H100, 1.6 on B200, 4 to 5 on L40S. Published microbenchmarks of T4, V100 and RTX 4090 are within
// 20 %.
inline constexpr double kL2BytesPerClock = 18, kLeastL2Speedup = 1.25, kMostL2Speedup = 5;

// How much closer GDDR without ECC comes to its data sheet than other memory. Products of few rows
// reach 0.94 of the bandwidth on RTX 4090, 0.77 to 0.88 with HBM, and 0.80 to 0.86 with GDDR and
// inline ECC (L40S, A40, RTX PRO 6000; measured layers and kernel sweeps, docs/data.md). The
// surfaces hold the remaining shortfall, so that a surface of L40S serves an RTX 4090.
inline constexpr double kPlainGddrGain = 0.94 / 0.82;

// Sizes, in multiples of the L2, up to which an operand that a measuring loop reads repeatedly
// comes from the L2 as a whole, and from which on nothing of it does. The share falls linearly
// between.
inline constexpr double kBeyondCache = 1.25, kAllCached = 0.9;

// Times of one call whose operands come from memory, and of the same call repeated on the same
// operands.
struct MoveTimes {
  Seconds once, repeated;
};

struct KernelGpu : Gpu {
  KernelGpu(const Gpu& gpu);  // NOLINT(google-explicit-constructor): every GPU is one

  // The peak rate for an op of this number format; formats without hardware are widened
  // (Gpu::compute_dtype). NoData: there is none.
  FlopsPerSecond rate(Dtype arithmetic) const {
    const FlopsPerSecond known = rates_[index(arithmetic)];
    return known > FlopsPerSecond(0) ? known : peak(compute_dtype(arithmetic));
  }
  // The rate of fp32 products that the power limit of the card sustains (kernel_gpu.cc).
  FlopsPerSecond sustained_fp32() const { return sustained_fp32_; }
  // Clocks per second, summed over the compute units, at the clock that the peak rates imply; 0:
  // not known.
  double clocks_per_second() const { return clocks_per_second_; }
  // Exponentials per second. Softmax takes one for each pair of query and key, and tensor cores
  // have outgrown that rate. 0: not known.
  double exponentials_per_second() const { return exponentials_per_second_; }

  // Number of compute units, at least one, and its inverse.
  double units() const { return units_; }
  double per_unit() const { return per_unit_; }

  // Bytes that come from the L2 of an operand that the step made before or uses again: all of it if
  // it takes at most half of the L2, else none. No branch on `bytes`.
  Bytes if_cached(Bytes bytes) const {
    return bytes * static_cast<double>(bytes.value() <= half_l2_);
  }
  // Bytes that come from the L2 when a measuring loop reads the operand repeatedly. No branch.
  Bytes cached_on_repeat(Bytes bytes) const {
    constexpr double kPerUnit = 1 / (kBeyondCache - kAllCached);
    const double share = (kBeyondCache - bytes.value() * per_l2_) * kPerUnit;
    return bytes * minimum(maximum(both(share), both(0)), both(1))[0];
  }

  // Time to move `bytes` of which `cached` come from the L2.
  Seconds move_time(Bytes bytes, Bytes cached) const {
    cached = std::min(cached, bytes);
    return (bytes - cached).value() * memory_ + cached.value() * from_l2_;
  }
  // The longer of `computed` and of the time to move `bytes`: with `cached` of them from the L2 for
  // a single call, with `cached_again` for a repeated one.
  MoveTimes longest(Seconds computed, Bytes bytes, Bytes cached, Bytes cached_again) const {
    const Two all = both(bytes.value());
    const Two from_l2 = minimum(Two{cached.value(), cached_again.value()}, all);
    const Two moved = (all - from_l2) * memory_.value() + from_l2 * from_l2_.value();
    const Two longer = maximum(both(computed.value()), moved);
    return {Seconds(longer[0]), Seconds(longer[1])};
  }
  // Time to move `bytes` at the data sheet's bandwidth, and the same with `cached` of them at the
  // best rate that any L2 was seen to give (for KernelPoint::least).
  Seconds by_sheet(Bytes bytes) const { return bytes.value() * sheet_; }
  Seconds least_move_time(Bytes bytes, Bytes cached) const {
    return by_sheet(bytes - std::min(cached, bytes) * (1 - 1 / kMostL2Speedup));
  }

 private:
  std::array<FlopsPerSecond, kDtypeCount> rates_{};  // 0: none
  FlopsPerSecond sustained_fp32_;
  double clocks_per_second_ = 0, exponentials_per_second_ = 0;
  double units_ = 1, per_unit_ = 1;
  double half_l2_ = 0, per_l2_ = 0;   // in bytes
  Seconds sheet_, memory_, from_l2_;  // a byte
};

// std::ceil for x >= 0, without a call into the library, because a product needs a dozen of them.
inline double ceiling(double x) {
  if (x >= 0x1p52) return x;
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<double>(whole + (static_cast<double>(whole) < x));  // no branch on x
}

// Whole waves over the waves that the tiles fill: ceil(tiles/units) * units / tiles, at least 1.
inline double wave_factor(double tiles, int units) {
  return tiles <= 0 || units <= 0 ? 1 : ceiling(tiles / units) * units / tiles;
}

}  // namespace orrery
