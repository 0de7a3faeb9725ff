#include "orrery/kernel/families/kernel_gpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// The clock that the peaks imply, else the highest.
std::optional<Hertz> clock_of(const Gpu& gpu) {
  return gpu.peak_clock ? gpu.peak_clock : gpu.boost_clock;
}

BytesPerSecond l2_bandwidth_of(const Gpu& gpu) {
  const std::optional<Hertz> clock = clock_of(gpu);
  const BytesPerSecond by_units(clock ? kL2BytesPerClock * gpu.compute_units * clock->value() : 0);
  return std::max(gpu.memory.bandwidth * kLeastL2Speedup,
                  std::min(gpu.memory.bandwidth * kMostL2Speedup, by_units));
}

// Share of its fp32 peak that the GPU reaches in products by its lanes.
double wide_unit_share(const Gpu& gpu) {
  constexpr double kWideLanes = 96;
  const std::optional<Hertz>& clock = gpu.boost_clock ? gpu.boost_clock : gpu.peak_clock;
  if (!clock || !gpu.supports(Dtype::kFp32)) return 1;
  const double lanes = gpu.peak(Dtype::kFp32).value() / (2 * clock->value() * gpu.compute_units);
  return lanes <= kWideLanes ? 1 : gpu.architecture.wide_unit_share;
}

// The rate of fp32 products that a card holds for long. Four fifths of its power limit are for its
// units. Where the energy of a FLOP was measured at the limit, the rate is that power over the
// energy. Other energies are those of cards close to their full clock. A card that needs more power
// than its limit lowers clock and voltage together: the energy of a FLOP falls about as the clock
// does (between the cube of the clock that scaled voltages give and the plain proportion below the
// lowest voltage), so that the rate follows the square root of the power. An L4 (72 W) then holds
// 13 of 30 TFLOP/s; it is measured at 15.4, 12.5 and 10.7 in products of 2,048, 4,096 and 8,192
// (github.com/zzc0721/torch-performance-test-data, issue 120). No limit where the power is not
// known.
FlopsPerSecond sustained_fp32_of(const Gpu& gpu) {
  constexpr double kShare = 0.8;
  FlopsPerSecond rate(std::numeric_limits<double>::infinity());
  if (!gpu.supports(Dtype::kFp32)) return rate;
  const double share = wide_unit_share(gpu);
  const FlopsPerSecond unlimited = gpu.peak(Dtype::kFp32) * share;
  if (share < 1) rate = unlimited;
  if (!gpu.power) return rate;
  const GpuArchitecture& a = gpu.architecture;
  const FlopsPerSecond powered(kShare * gpu.power->value() / (a.fp32_picojoules * 1e-12));
  if (a.fp32_at_power_limit || powered > unlimited) return std::min(rate, powered);
  return unlimited * std::sqrt(powered / unlimited);
}

}  // namespace

KernelGpu::KernelGpu(const Gpu& gpu) : Gpu(gpu), sustained_fp32_(sustained_fp32_of(gpu)) {
  for (std::size_t i = 0; i < kDtypeCount; ++i) {
    try {
      rates_[i] = peaks[i] ? *peaks[i] : peak(compute_dtype(static_cast<Dtype>(i)));
    } catch (const NoData&) {  // said when it is asked for
    }
  }
  if (const std::optional<Hertz> clock = clock_of(gpu))
    clocks_per_second_ = compute_units * clock->value();
  exponentials_per_second_ = architecture.exponentials * clocks_per_second_;
  units_ = std::max(compute_units, 1);
  per_unit_ = 1 / units_;
  half_l2_ = l2 ? l2->value() * 0.5 : 0;
  per_l2_ = 1 / (l2 ? l2->value() : 1e-300);  // without one a byte is too much
  const bool plain_gddr = !memory.inline_ecc && memory.kind.starts_with("GDDR");
  sheet_ = Bytes(1) / memory.bandwidth;
  memory_ = sheet_ * (plain_gddr ? 1 / kPlainGddrGain : 1);
  from_l2_ = Bytes(1) / l2_bandwidth_of(gpu);
}

}  // namespace orrery
