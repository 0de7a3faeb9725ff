#include "orrery/kernel/families/kernel_gpu.h"

#include <algorithm>
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

// The rate of fp32 products that a card's power allows for long: 80 % of it over the energy of a
// FLOP, by what cards at their power limit were measured to hold: 22 pJ on Pascal (P4), 14 on Volta
// and Turing (T4), 12 on Ampere (A100 PCIe: 16.5 TFLOP/s at 250 W, 18.8 at 300 W), 7 on CDNA
// (matrix units); 6 on later ones, by the trend of the processes. A P4 and a T4 hold half of their
// peak, an L4 a third; no limit where power is not known.
// Units of 128 lanes (GP104, GA10x, Ada, Hopper) are fed from a shared memory as wide as that of 64
// lanes: 80 % of their peak (P4 in short calls: 85 %; H100 by analogy).
FlopsPerSecond sustained_fp32_of(const Gpu& gpu) {
  constexpr double kShare = 0.8, kWideUnit = 0.8, kWideLanes = 96;
  FlopsPerSecond rate(std::numeric_limits<double>::infinity());
  const std::string& a = gpu.architecture;
  const double picojoules = a == "pascal"                   ? 22
                            : a == "volta" || a == "turing" ? 14
                            : a == "ampere"                 ? 12
                            : a == "cdna1" || a == "cdna2"  ? 7
                                                            : 6;
  if (gpu.power) rate = FlopsPerSecond(kShare * gpu.power->value() / (picojoules * 1e-12));
  const std::optional<Hertz>& clock = gpu.boost_clock ? gpu.boost_clock : gpu.peak_clock;
  if (gpu.vendor == "nvidia" && clock && gpu.supports(Dtype::kFp32)) {
    const FlopsPerSecond peak = gpu.peak(Dtype::kFp32);
    const double lanes = peak.value() / (2 * clock->value() * gpu.compute_units);
    if (lanes > kWideLanes) rate = std::min(rate, peak * kWideUnit);
  }
  return rate;
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
  if (sm_version > 0) exponentials_per_second_ = (sm_version == 103 ? 32 : 16) * clocks_per_second_;
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
