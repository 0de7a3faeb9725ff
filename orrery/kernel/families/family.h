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
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/kernel/surface/measured_range.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/workload/ops/op.h"

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
  double extrapolated = 0;  // doublings outside every table, along sizes that are no axis
};

// Roughness penalties of a fitted surface along one axis, relative to a row of weight 1
// (grid_fit.h).
struct AxisSmoothness {
  // On the squared difference of neighbouring values, divided by their distance.
  double first_difference = 0.001;
  // On the squared deviation of a value from the line between its two neighbours.
  double second_difference = 0.003;
  // On the squared mixed difference over a cell; the geometric mean of the weights of the two axes
  // counts. A surface that is a sum of functions of one coordinate each, jumps included, costs
  // nothing.
  double mixed_difference = 0.04;
};

// Two axes whose sizes have the same effect on a kernel (sequences and heads): the penalty on the
// squared difference of two nodes whose coordinates have the same sum.
struct EquivalentAxes {
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

// Kinds of calls that a family may serve: the alternatives of Op, some of them cut further.
enum class KernelKind : std::uint8_t {
  kProduct,             // one, no gradient
  kProductGradient,     // one
  kBatchedProduct,      // several at once
  kBatchedFp32Product,  // the same in fp32 or tf32
  kCausalAttention,
  kEncoderAttention,  // every query sees every key
  kDecodeAttention,
  kLatentAttention,
  kLatentModule,
  kExperts,
  kDispatchedExperts,  // of wide expert parallelism
  kLinearAttention,
  kStateSpace,
  kElementwise,
  kQuantisation,
  kEmbedding,
  kCollective,
  kAttentionBackward,
  kOptimizerStep,
  kConvolution,
  kSparseAttention,
};
inline constexpr std::size_t kKernelKinds = std::size_t(KernelKind::kSparseAttention) + 1;
KernelKind kind_of(const Op& op);

// A set of them, one bit each.
using KernelKinds = std::uint32_t;
template <class... Kinds>
constexpr KernelKinds kinds_of(Kinds... kinds) {
  return ((KernelKinds{1} << static_cast<std::size_t>(kinds)) | ...);
}

// A surface that may serve a kernel class.
struct KernelClassSource {
  std::string name;   // name of the class whose surface it is, as in the files: "fp8_block"
  double factor = 1;  // time of the served class over that of this surface, floor excluded
  double error = 0;   // shared relative error of the substitution
};

// A kernel class: calls that one efficiency surface describes (a number format, a head size, ...).
struct KernelClass {
  // The surfaces that may serve it, best first: its own, then those of other classes.
  std::vector<KernelClassSource> sources;
  // Shared relative error of PyTorch's kernel of the class, measured on the GPU asked about, where
  // it stands in for the engine's own kernel. 0: it never does.
  double torch_error = 0;
};

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual std::string_view name() const = 0;  // of its files: "gemm"
  // What it serves.
  virtual KernelKinds kinds() const = 0;
  bool serves(KernelKind kind) const { return kinds() >> static_cast<std::size_t>(kind) & 1; }

  // Nodes of the surface along each coordinate, increasing; the same for all classes and GPUs.
  virtual std::vector<std::vector<double>> axes() const = 0;

  // Nodes of the series that discrete shapes may have (surface.h); empty: the family has none.
  virtual std::vector<std::vector<double>> series_axes() const { return {}; }

  // How the fit smooths along each axis, and along each of the series.
  virtual std::vector<AxisSmoothness> smoothness() const {
    return std::vector<AxisSmoothness>(axes().size());
  }
  virtual EquivalentAxes equivalent_axes() const { return {}; }
  // Pairs of sizes that replace each other outside the measured range (measured_range.h).
  virtual std::span<const AxisExchange> axis_exchanges() const { return {}; }
  // Error of the family's physics outside the measured range.
  virtual ExtrapolationError extrapolation_error() const { return {}; }
  // Whether kernels change where products of sizes cross a line (bytes that outgrow the cache,
  // blocks that no longer fill the GPU): the fit then looks for such lines (boosted_trees.h).
  virtual bool edges() const { return false; }
  virtual std::vector<AxisSmoothness> series_smoothness() const {
    return std::vector<AxisSmoothness>(series_axes().size());
  }

  // All kernel classes of the family.
  virtual std::span<const KernelClass> classes() const = 0;
  // Index into classes(); -1: no class, the op is served by physics alone.
  virtual int class_of(const Op& op) const = 0;

  // NoData if the GPU cannot compute the op. `warm`: the call is repeated on the same operands, as
  // when it was measured, so that operands which fit stay in the L2; in a step weights come from
  // memory.
  virtual KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const = 0;
  // False where `warm` changes nothing, which saves asking twice.
  virtual bool warm_differs(const Op& op, const KernelGpu& gpu) const;

  // The part of KernelPoint::base that is no work: filling the GPU with blocks and draining it.
  virtual Seconds fill_and_drain() const { return Seconds(0); }

  // Without any surface: time = analytical_floor + base * analytical_inefficiency.
  virtual double analytical_inefficiency(const Op& op, const KernelGpu& gpu) const = 0;
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

}  // namespace orrery
