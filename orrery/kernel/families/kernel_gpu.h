// A GPU as the kernels' physics sees it: its data sheet, and what follows from it alone, reckoned
// once. What a lookup asks for again and again is a multiplication here.
#pragma once

#include <array>
#include <cstdint>

#include "orrery/base/quick_math.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

// Bandwidth of the L2 for a kernel that reads all of an operand from it: kL2BytesPerClock a clock
// and compute unit, but 1.25 to 5 times the device memory's. From warm decode attention
// (data/kernels): 1.1 times on H200, 1.4 on H100, 1.6 on B200, 4 to 5 on L40S; known
// microbenchmarks of T4, V100 and RTX 4090 lie within 20 %.
inline constexpr double kL2BytesPerClock = 18, kLeastL2Speedup = 1.25, kMostL2Speedup = 5;

// GDDR without ECC streams this much nearer to its data sheet than other memory: products of few
// rows reach 0.94 of the bandwidth on RTX 4090 (data/layers), 0.77 to 0.88 with HBM (data/kernels),
// 0.80 to 0.86 with GDDR and inline ECC (L40S there; A40 and RTX PRO 6000 in data/layers). The
// surfaces hold the rest, so that one of L40S serves an RTX 4090.
inline constexpr double kPlainGddrGain = 0.94 / 0.82;

// Of an operand that a measuring loop reads again and again: all of it up to 0.9 of the L2 comes
// from there, nothing from 1.25 on.
inline constexpr double kBeyondCache = 1.25, kAllCached = 0.9;

struct KernelGpu : Gpu {
  KernelGpu(const Gpu& gpu);  // NOLINT(google-explicit-constructor): every GPU is one

  // The peak rate for an op of this number format; formats without hardware are widened
  // (Gpu::compute_dtype). NoData: there is none.
  FlopsPerSecond rate(Dtype arithmetic) const {
    const FlopsPerSecond known = rates_[static_cast<std::size_t>(arithmetic)];
    return known > FlopsPerSecond(0) ? known : peak(compute_dtype(arithmetic));
  }
  // The rate of fp32 products that a card's power allows for long (kernel_gpu.cc).
  FlopsPerSecond sustained_fp32() const { return sustained_fp32_; }
  // Clocks a second of all compute units together, at the clock that the peaks imply; 0: not known.
  double clocks_per_second() const { return clocks_per_second_; }
  // Exponentials a second: 16 a clock and unit since Volta, 32 on Blackwell Ultra (NVIDIA, "Inside
  // Blackwell Ultra"). Tensor cores have outgrown them: softmax takes one for each pair of query
  // and key. 0 where they are not known (other makers).
  double exponentials_per_second() const { return exponentials_per_second_; }

  // Compute units, at least one, and 1 over it.
  double units() const { return units_; }
  double per_unit() const { return per_unit_; }

  // Of an operand that a step made or will use again: `bytes` if it stays in the L2 until then (it
  // takes at most half of it), else none. No branch on bytes.
  Bytes if_cached(Bytes bytes) const {
    return bytes * static_cast<double>(bytes.value() <= half_l2_);
  }
  // What of it comes from the L2 when a measuring loop reads it again and again. No branch.
  Bytes cached_on_repeat(Bytes bytes) const {
    constexpr double kPerUnit = 1 / (kBeyondCache - kAllCached);
    const double share = (kBeyondCache - bytes.value() * per_l2_) * kPerUnit;
    return bytes * minimum(maximum(both(share), both(0)), both(1))[0];
  }

  BytesPerSecond l2_bandwidth() const { return Bytes(1) / from_l2_; }
  // Time to move `bytes` of which `cached` come from the L2.
  Seconds move_time(Bytes bytes, Bytes cached) const {
    cached = std::min(cached, bytes);
    return (bytes - cached).value() * memory_ + cached.value() * from_l2_;
  }
  // The same, in seconds, for each of two parts that come from the L2.
  Two move_times(Bytes bytes, Bytes cached, Bytes or_cached) const {
    const Two all = both(bytes.value());
    const Two from_l2 = minimum(Two{cached.value(), or_cached.value()}, all);
    return (all - from_l2) * memory_.value() + from_l2 * from_l2_.value();
  }
  // By the data sheet, and the same at the best that any L2 was seen to give, for
  // KernelPoint::least.
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

// std::ceil for x >= 0 without a call into the library: a product asks a dozen times.
inline double ceiling(double x) {
  if (x >= 0x1p52) return x;
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<double>(whole + (static_cast<double>(whole) < x));  // no branch on x
}

// Rounds tiles of a grid up to whole waves over the compute units: ceil(tiles/units)*units/tiles,
// >= 1.
inline double wave_factor(double tiles, int units) {
  return tiles <= 0 || units <= 0 ? 1 : ceiling(tiles / units) * units / tiles;
}

}  // namespace orrery
