// A kernel family: how ops of one kind become physics and coordinates of an efficiency surface.
//
//   time = floor + base(op, gpu) * exp(surface(x))          and never below `least`
//
// Floor and surface belong to a kernel class (framework, number formats) on one GPU and are fitted
// (kernel/fit). `base` and the coordinates x are computed by the family. `base` holds everything
// that the data sheet explains, so that the surface of one GPU can serve another.
//
// Adding a family: one file of this folder that implements KernelFamily, and one line in
// families.def (docs/kernels.md, "Adding an op family"). The tables that a family is fitted on are
// read elsewhere (kernel/tables/kernel_tables.h).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/kernel/families/kernel_kinds.h"
#include "orrery/kernel/surface/measured_range.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// Physics of one op on one GPU, and its coordinates on the surface of its class.
struct KernelPoint : SurfacePlace {
  Seconds compute;  // FLOPs over the data sheet's peak rate
  Seconds memory;   // bytes over the data sheet's bandwidth
  // The time that the surface multiplies: a roofline with waves, tiles and caches; above 0.
  Seconds base;
  // `base` of the same call repeated on the same operands; 0: KernelFamily::point must be asked.
  Seconds repeated;
  // Lower bound of any prediction: the roofline, with the operands that fit in the L2 cache read at
  // the best rate that any L2 was seen to give.
  Seconds least;
  // Time, by physics, of kernels of the op that the measured call does not contain; added to the
  // prediction.
  Seconds rest;
  double extrapolated = 0;  // doublings outside every table, along sizes that are no axis
  // Time that kernels of this GPU's generation take at least besides `base`, and those of others do
  // not (whole tiles): a surface of another generation knows nothing of it. A surface of this
  // generation contains it.
  Seconds first_tile = Seconds(0);
};

// Ends the name of a class of rows that serve other GPUs in place of the class whose name precedes
// it: an older sweep of the GPU, made as the sweeps of other GPUs were, where the newest was not.
// Such rows are fitted but never judge.
inline constexpr std::string_view kForOthers = "@others";

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
  // Its calls scale activations (fp8, nvfp4), so that KernelClasses::scaled_gemm may serve it.
  bool scaled = false;
};

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual std::string_view name() const = 0;  // name of its folder of surfaces: "gemm"
  virtual KernelKinds kinds() const = 0;      // the calls that it serves
  bool serves(std::size_t kind) const { return kinds() >> kind & 1; }

  // Nodes of the surface along each coordinate, increasing; the same for all classes and GPUs.
  virtual std::vector<std::vector<double>> axes() const = 0;
  // Nodes of the series that discrete shapes may have (surface.h); empty: the family has none.
  virtual std::vector<std::vector<double>> series_axes() const { return {}; }
  // Pairs of sizes that replace each other outside the measured range (measured_range.h).
  virtual std::span<const AxisExchange> axis_exchanges() const { return {}; }
  // Error of the family's physics outside the measured range.
  virtual ExtrapolationError extrapolation_error() const { return {}; }

  // All kernel classes of the family.
  virtual std::span<const KernelClass> classes() const = 0;
  // Index into classes(); -1: the op has no class and is served by physics alone.
  virtual int class_of(const Op& op) const = 0;

  // False if libraries run another kind of kernel for the class on one GPU than on the other. The
  // surface of the one then says nothing about the other, and physics alone serves better.
  virtual bool same_kernels(const KernelClass&, const KernelGpu&, const KernelGpu&) const {
    return true;
  }

  // Physics and coordinates of a call. `warm`: the call is repeated on the same operands, as when
  // it was measured, so that operands which fit stay in the L2; in a step of an engine the weights
  // come from memory. NoData: the GPU cannot compute the op.
  virtual KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const = 0;
  // False if `warm` changes nothing, which saves asking twice. A family has one of its own if its
  // point() looks at parts of the operands, which may stay in the L2 where all of them do not.
  virtual bool warm_differs(const Op& op, const KernelGpu& gpu) const;

  // The part of KernelPoint::base that is no work: filling the GPU with blocks and draining it.
  virtual Seconds fill_and_drain() const { return Seconds(0); }

  // Without a surface: time = analytical_floor + base * analytical_inefficiency.
  virtual double analytical_inefficiency(const Op& op, const KernelGpu& gpu) const = 0;
  virtual Seconds analytical_floor() const = 0;
};

// log2 of sizes, for nodes of axes.
std::vector<double> log2_of(std::span<const int> sizes);
inline std::vector<double> log2_of(std::initializer_list<int> sizes) {
  return log2_of(std::span(sizes.begin(), sizes.size()));
}

}  // namespace orrery
