// A kernel family: how ops of one kind become physics and the coordinates of an efficiency surface.
//
//   time = floor + base(op, gpu) * exp(surface(x))          and never below `least`
//
// floor and surface belong to a kernel class (framework, number formats) on one GPU and are fitted
// (fit.h); base and x are computed here. base carries everything that the data sheet explains, so
// that the surface of one GPU can be used for another.
//
// Adding a family: one file that implements KernelFamily, and one line in families.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/estimate.h"
#include "orrery/base/quick_math.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/surface.h"
#include "orrery/workload/op.h"

namespace orrery {

// One op on one GPU, and where it is on the surface of its class.
struct KernelPoint : SurfacePlace {
  Seconds compute;   // FLOPs at the data sheet's peak
  Seconds memory;    // bytes at the data sheet's bandwidth
  Seconds base;      // what the surface multiplies: roofline with waves, tiles, cache; > 0
  Seconds repeated;  // base of the same call, repeated on the same operands; 0: to be asked for
  Seconds
      least;  // no prediction is below this: the roofline, operands that fit in the L2 at its best
  Seconds rest;  // by physics: kernels of the op that are no part of the measured call, added to
                 // its time
};

// How stiff a fitted surface is along one axis, against one row of weight 1 (grid_fit.h).
struct AxisSmoothness {
  double flat = 0.001;      // of (difference of neighbours)^2 a unit of distance
  double straight = 0.003;  // of (deviation from the line between both neighbours)^2
  // With another axis, the geometric mean of both: of (mixed difference over a cell)^2. A surface
  // that is a sum of functions of one coordinate each, jumps and all, costs nothing.
  double twist = 0.04;
};

// Two axes whose sizes do the same to a kernel (sequences and heads): of (difference of two nodes
// with the same sum of both coordinates)^2.
struct Exchange {
  std::size_t first = 0, second = 0;
  double weight = 0;
};

// Ends the name of a class of rows that serve other GPUs in place of the class it begins with: a
// sweep of the GPU's that was made as other GPUs' were, where the newest was not. Such rows are
// fitted, but never judge.
inline constexpr std::string_view kForOthers = "@others";

// One measured call.
struct KernelSample {
  Op op;
  std::string framework, kernel_class;
  std::uint64_t shape = 0;  // of all sizes, not of formats: rows with the same value are left out
                            // of the fit together
};

// A set of alternatives of Op, one bit each.
using OpKinds = std::uint32_t;
template <class... Ops>
constexpr OpKinds kinds_of() {
  return ((OpKinds{1} << Op(Ops{}).index()) | ...);
}

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual std::string_view name() const = 0;  // of its files: "gemm"
  // The kinds of ops it serves (kinds_of), and whether this one of them.
  virtual OpKinds kinds() const = 0;
  virtual bool accepts(const Op& op) const { return kinds() >> op.index() & 1; }

  // Nodes of the surface along each coordinate, increasing; the same for all classes and GPUs.
  virtual std::vector<std::vector<double>> axes() const = 0;

  // Nodes of the series that discrete shapes may have (surface.h); empty: the family has none.
  virtual std::vector<std::vector<double>> series_axes() const { return {}; }

  // How the fit smooths along each axis, and along each of the series.
  virtual std::vector<AxisSmoothness> smoothness() const {
    return std::vector<AxisSmoothness>(axes().size());
  }
  virtual Exchange exchange() const { return {}; }
  // Whether kernels change where products of sizes cross a line (bytes that outgrow the cache,
  // blocks that no longer fill the GPU): the fit then looks for such lines (boosted_trees.h).
  virtual bool edges() const { return false; }
  virtual std::vector<AxisSmoothness> series_smoothness() const {
    return std::vector<AxisSmoothness>(series_axes().size());
  }

  // The kernel classes of the family, and for each which surfaces may serve it, best first: its
  // own, then substitutes. A substitute takes `factor` times as long with a shared relative error
  // of `error`.
  struct Choice {
    std::string name;  // as in the files: "fp8_block"
    double factor = 1;
    double error = 0;
  };
  struct KernelClass {
    std::vector<Choice> choices;
    // Shared relative error of torch's kernel of the class, measured on the very GPU, in place of
    // the engine's own; 0: it never stands in.
    double of_torch = 0;
  };
  virtual std::span<const KernelClass> classes() const = 0;
  // Index into classes(); -1: no class, the op is served by physics alone.
  virtual int class_of(const Op& op) const = 0;

  // NoData if the GPU cannot compute the op. `warm`: the call is repeated on the same operands, as
  // when it was measured, so that operands which fit stay in the L2; in a step weights come from
  // memory.
  virtual KernelPoint point(const Op& op, const Gpu& gpu, bool warm) const = 0;
  // False where `warm` changes nothing, which saves asking twice.
  virtual bool warm_differs(const Op& op, const Gpu& gpu) const;

  // What of KernelPoint::base is no work: filling the GPU and draining it.
  virtual Seconds setup() const { return Seconds(0); }

  // Without any surface: time = analytical_floor + base * analytical_inefficiency.
  virtual double analytical_inefficiency(const Op& op, const Gpu& gpu) const = 0;
  virtual Seconds analytical_floor() const = 0;

  // Measured tables that the family is fitted on (file names without .csv.gz), and how a row is
  // read: false for rows that are not of this family or are known to be unsound (say which in a
  // comment).
  virtual std::vector<std::string> tables() const = 0;
  // Whether only a sweep of a user's GPU has its tables (sweep_rows.h).
  virtual bool of_sweeps() const { return false; }
  virtual bool read(const CsvReader& row, std::string_view table, KernelSample& sample) const = 0;
};

// Nodes at these sizes.
std::vector<double> log2_of(std::span<const int> sizes);
inline std::vector<double> log2_of(std::initializer_list<int> sizes) {
  return log2_of(std::span(sizes.begin(), sizes.size()));
}

// All families, in a fixed order (families.cc).
std::span<const KernelFamily* const> kernel_families();

// Shared physics
// ---------------------------------------------------------------------------------------------

// Bandwidth of the L2 for a kernel that reads all of an operand from it: kL2BytesPerClock a clock
// and compute unit, but 1.25 to 5 times the device memory's. From warm decode attention
// (data/kernels): 1.1 times on H200, 1.4 on H100, 1.6 on B200, 4 to 5 on L40S; known
// microbenchmarks of T4, V100 and RTX 4090 lie within 20 %.
inline constexpr double kL2BytesPerClock = 18, kLeastL2Speedup = 1.25, kMostL2Speedup = 5;
inline BytesPerSecond l2_bandwidth(const Gpu& gpu) {
  const std::optional<Hertz>& clock = gpu.peak_clock ? gpu.peak_clock : gpu.boost_clock;
  const BytesPerSecond by_units(clock ? kL2BytesPerClock * gpu.compute_units * clock->value() : 0);
  return std::max(gpu.memory.bandwidth * kLeastL2Speedup,
                  std::min(gpu.memory.bandwidth * kMostL2Speedup, by_units));
}

// GDDR without ECC streams this much nearer to its data sheet than other memory: products of few
// rows reach 0.94 of the bandwidth on RTX 4090 (data/layers), 0.77 to 0.88 with HBM (data/kernels),
// 0.80 to 0.86 with GDDR and inline ECC (L40S there; A40 and RTX PRO 6000 in data/layers). The
// surfaces hold the rest, so that one of L40S serves an RTX 4090.
inline constexpr double kPlainGddrGain = 0.94 / 0.82;

// What moving bytes takes, for several questions about one call.
class MoveRates {
 public:
  [[gnu::always_inline]] explicit MoveRates(const Gpu& gpu) {
    const bool plain_gddr = !gpu.memory.inline_ecc && gpu.memory.kind.starts_with("GDDR");
    sheet_ = Bytes(1) / gpu.memory.bandwidth;
    memory_ = sheet_ * (plain_gddr ? 1 / kPlainGddrGain : 1);
    l2_ = Bytes(1) / l2_bandwidth(gpu);
  }
  // Time to move `bytes` of which `cached` come from the L2.
  Seconds time(Bytes bytes, Bytes cached) const {
    cached = std::min(cached, bytes);
    return (bytes - cached).value() * memory_ + cached.value() * l2_;
  }
  // The same, in seconds, for each of two parts that come from the L2.
  Two times(Bytes bytes, Bytes cached, Bytes or_cached) const {
    const Two all = both(bytes.value());
    const Two from_l2 = minimum(Two{cached.value(), or_cached.value()}, all);
    return (all - from_l2) * memory_.value() + from_l2 * l2_.value();
  }
  // By the data sheet, and the same at the best that any L2 was seen to give, for
  // KernelPoint::least.
  Seconds by_sheet(Bytes bytes) const { return bytes.value() * sheet_; }
  Seconds least(Bytes bytes, Bytes cached) const {
    return by_sheet(bytes - std::min(cached, bytes) * (1 - 1 / kMostL2Speedup));
  }

 private:
  Seconds sheet_, memory_, l2_;  // a byte
};
inline Seconds move_time(Bytes bytes, Bytes cached, const Gpu& gpu) {
  return MoveRates(gpu).time(bytes, cached);
}
inline Seconds least_move_time(Bytes bytes, Bytes cached, const Gpu& gpu) {
  return MoveRates(gpu).least(bytes, cached);
}

// Of an operand that a step made or will use again: `bytes` if it stays in the L2 until then (it
// takes at most half of it), else none.
[[gnu::always_inline]] inline Bytes if_cached(Bytes bytes, const Gpu& gpu) {
  return gpu.l2 ? bytes * static_cast<double>(bytes <= *gpu.l2 * 0.5)
                : Bytes(0);  // no branch on bytes
}

// Of an operand that a measuring loop reads again and again: all of it up to 0.9 of the L2, nothing
// from 1.25 on.
inline constexpr double kBeyondCache = 1.25, kAllCached = 0.9;
[[gnu::always_inline]] inline Bytes cached_on_repeat(Bytes bytes, const Gpu& gpu) {
  if (!gpu.l2) return Bytes(0);
  constexpr double kPerUnit = 1 / (kBeyondCache - kAllCached);
  const double share = (kBeyondCache - bytes / *gpu.l2) * kPerUnit;
  return bytes * minimum(maximum(both(share), both(0)), both(1))[0];  // no branch
}

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

// The rate of fp32 products that a card's power allows for long: 80 % of it over the energy of a
// FLOP, by what cards at their power limit were measured to hold: 22 pJ on Pascal (P4), 14 on Volta
// and Turing (T4), 12 on Ampere (A100 PCIe: 16.5 TFLOP/s at 250 W, 18.8 at 300 W), 7 on CDNA
// (matrix units); 6 on later ones, by the trend of the processes. A P4 and a T4 hold half of their
// peak, an L4 a third; no limit where power is not known.
// Units of 128 lanes (GP104, GA10x, Ada, Hopper) are fed from a shared memory as wide as that of 64
// lanes: 80 % of their peak (P4 in short calls: 85 %; H100 by analogy).
FlopsPerSecond sustained_fp32(const Gpu& gpu);

// Clocks a second of all compute units together, at the clock that the peaks imply; 0: not known.
double clocks_per_second(const Gpu& gpu);

// Exponentials a second: 16 a clock and unit since Volta, 32 on Blackwell Ultra (NVIDIA, "Inside
// Blackwell Ultra"). Tensor cores have outgrown them: softmax takes one for each pair of query and
// key. 0 where they are not known (other makers).
double exponentials_per_second(const Gpu& gpu);

// The peak rate for an op of this number format; formats without hardware are widened
// (Gpu::compute_dtype).
inline FlopsPerSecond rate_for(Dtype arithmetic, const Gpu& gpu) {
  const std::optional<FlopsPerSecond>& its_own = gpu.peaks[static_cast<std::size_t>(arithmetic)];
  return its_own ? *its_own : gpu.peak(gpu.compute_dtype(arithmetic));
}

}  // namespace orrery
