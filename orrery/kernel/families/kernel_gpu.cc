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

// Energy of a FLOP of fp32 products, in picojoules: 22 on Pascal (P4), 14 on Volta and Turing
// (T4), 12 on GA100 (A100 PCIe: 16.5 TFLOP/s at 250 W, 18.8 at 300 W), 7 on CDNA (matrix units),
// each by what cards at their power limit were measured to hold; 10 on GA10x (RTX A6000: 23.9
// TFLOP/s at 300 W), 6.5 on later ones (L40S: 46.9 TFLOP/s at 350 W; the collection named
// below).
double picojoules_per_flop(const Gpu& gpu) {
  const std::string& a = gpu.architecture;
  if (a == "pascal") return 22;
  if (a == "volta" || a == "turing") return 14;
  if (a == "ampere") return gpu.sm_version == 86 ? 10 : 12;
  if (a == "cdna1" || a == "cdna2") return 7;
  return 6.5;
}

// Share of its peak that a unit of 128 fp32 lanes reaches in products. Its registers and shared
// memory are those of a unit of 64 lanes: 0.8 (P4 in short calls 0.85, P40 0.86, H100 0.78). On
// GA10x, Ada and consumer Blackwell half of the lanes also compute integers, and addresses take
// their cycles: 0.65. torch.matmul in fp32, as contributed to
// github.com/zzc0721/torch-performance-test-data (database.md, issues 97, 107, 185), reaches 0.61
// on RTX PRO 6000, 0.62 on A40, A4000, RTX A6000 and L20, 0.66 on RTX 4090 and 5090, 0.70 on RTX
// 3090 and 4070 SUPER.
double wide_unit_share(const Gpu& gpu) {
  constexpr double kWideLanes = 96;
  const std::optional<Hertz>& clock = gpu.boost_clock ? gpu.boost_clock : gpu.peak_clock;
  if (gpu.vendor != "nvidia" || !clock || !gpu.supports(Dtype::kFp32)) return 1;
  const double lanes = gpu.peak(Dtype::kFp32).value() / (2 * clock->value() * gpu.compute_units);
  if (lanes <= kWideLanes) return 1;
  const int sm = gpu.sm_version;
  return sm == 86 || sm == 89 || sm / 10 == 12 ? 0.65 : 0.8;
}

// The rate of fp32 products that a card holds for long. Four fifths of its power limit are for
// its units. Up to Ampere the rate is that power over the energy of a FLOP, which was measured
// at the limit. The energies of later cards are those of cards close to their full clock. A card
// that needs more power than its limit lowers clock and voltage together: the energy of a FLOP
// falls about as the clock does (between the cube of the clock that scaled voltages give and the
// plain proportion below the lowest voltage), so that the rate follows the square root of the
// power. An L4 (72 W) then holds 13 of 30 TFLOP/s; it is measured at 15.4, 12.5 and 10.7 in
// products of 2,048, 4,096 and 8,192 (issue 120 of the same repository). No limit where the
// power is not known.
FlopsPerSecond sustained_fp32_of(const Gpu& gpu) {
  constexpr double kShare = 0.8;
  FlopsPerSecond rate(std::numeric_limits<double>::infinity());
  if (!gpu.supports(Dtype::kFp32)) return rate;
  const double share = wide_unit_share(gpu);
  const FlopsPerSecond unlimited = gpu.peak(Dtype::kFp32) * share;
  if (share < 1) rate = unlimited;
  if (!gpu.power) return rate;
  const FlopsPerSecond powered(kShare * gpu.power->value() / (picojoules_per_flop(gpu) * 1e-12));
  const std::string& a = gpu.architecture;
  const bool at_limit = a == "pascal" || a == "volta" || a == "turing" || a == "ampere" ||
                        a == "cdna1" || a == "cdna2";
  if (at_limit || powered > unlimited) return std::min(rate, powered);
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
