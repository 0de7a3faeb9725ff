#include "orrery/kernel/tiers/surface_predictor.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace orrery {
namespace {

// A discrete shape (the experts of one model) that was not measured: one standard deviation of the
// errors of fits without one model at a time, on the rows of that model (docs/kernels.md).
constexpr double kOtherShapeError = 0.17;

// Floor and slowdown of the roofline for ops of no family: docs/reference/kernels.md, section Ops
// without a kernel family.
constexpr Seconds kRooflineFloor = microseconds(10);
constexpr double kRooflineFactor = 1.5;

// Share of its peak that the fastest product reaches on the GPUs that the analytical inefficiencies
// were read off: 0.869 on A100 SXM, 0.803 on H100 SXM, 0.776 on B200, 0.729 on GB200 (maximum
// achievable matmul FLOPS, github.com/stas00/ml-engineering, compute/accelerator/README.md).
constexpr double kUsualShare = 0.8;

// How much longer a call takes on a GPU whose fastest product reaches a smaller share of the peak
// than is usual, because its power limit lowers the clock. A call draws power for its work: it is
// slowed down the more, the closer it comes to the rate of the fastest product (in logs, by that
// share), and only in as far as arithmetic bounds it.
double held_back(const KernelGpu& gpu, const Op& op, const KernelPoint& p, double inefficiency) {
  if (p.compute <= Seconds(0)) return 1;
  const std::optional<double> share = gpu.achievable_share(gpu.compute_dtype(arithmetic(op)));
  if (!share) return 1;
  const double compute = p.compute.value(), memory = p.memory.value();
  const double bound = compute * compute / (compute * compute + memory * memory);
  const double drawn = std::min(1.0, 1 / (inefficiency * kUsualShare));
  return std::pow(kUsualShare / *share, bound * drawn);
}

}  // namespace

void SurfacePredictor::calibrate(const KernelFamily& family, const ServedClass& c, const Op& op,
                                 const KernelPoint& p, bool repeated, KernelTime& t) const {
  // The calibration was made for repeated calls; a call of a step has the same error.
  const KernelPoint warm = repeated ? p : family.point(op, gpu_, true);
  KernelTime its = t;
  if (!repeated) uncalibrated(family, &c, op, warm, true, its);
  const double factor = c.points->factor(calibration_place(its.time.value, warm));
  t.time = {std::max(t.time.value * factor, p.least), c.points->shared, c.points->own,
            Origin::kTransferred, Tails::kHeavy};
}

void SurfacePredictor::extrapolated(const KernelFamily& family, const ServedClass& c, const Op& op,
                                    const KernelPoint& p, bool repeated, KernelTime& t) const {
  const Surface& surface = *c.served.surface;
  KernelPoint nearest = p;
  const double exchanged = surface.measured_range.exchange(family.axis_exchanges(), nearest);
  by_surface(family, c, op, nearest, repeated, t);
  const double distance = surface.measured_range.distance(nearest) + p.extrapolated;
  // Without std::hypot, which takes ten times as long for numbers that never overflow.
  const double beyond = family.extrapolation_error().at(distance);
  t.time.own = std::sqrt(t.time.own * t.time.own + exchanged * exchanged + beyond * beyond);
  const bool other_shape = !surface.series.empty() && !surface.find_series(p.series);
  if (other_shape) t.time.own = std::hypot(t.time.own, kOtherShapeError);
  if (distance >= kFarExtrapolation || other_shape)
    t.time.origin = std::max(t.time.origin, Origin::kTransferred);
}

void SurfacePredictor::faster(const KernelFamily& family, const Op& op, const KernelPoint& p,
                              const ServedClass& c, bool repeated, Seconds& floor,
                              Seconds& work) const {
  const bool some = c.rule && c.rule->how == EngineKernel::How::kSome;
  if (some && !c.rule->applies(op)) return;
  const Seconds its_work = work_of(family, op, p, c, c.replacing, repeated);
  const Seconds its_floor = c.replacing.surface->floor * c.replacing.latency;
  if (!some && its_floor + its_work >= floor + work) return;
  floor = its_floor;
  work = its_work;
}

void SurfacePredictor::analytical(const KernelFamily& family, const ServedClass* c, const Op& op,
                                  const KernelPoint& p, bool repeated, KernelTime& t) const {
  if (c && c->rule && c->rule->physics) {
    const KernelFamily& physics = c->rule->physics();
    return analytical(physics, nullptr, op, physics.point(op, gpu_, repeated), repeated, t);
  }
  t.time.shared = kAnalyticalShared;
  t.time.own = kAnalyticalOwn;
  t.time.origin = Origin::kAnalytical;
  const double inefficiency = family.analytical_inefficiency(op, gpu_);
  const double slower = inefficiency * held_back(gpu_, op, p, inefficiency);
  add_up(family.analytical_floor(), p.base * slower, p, t);
}

KernelTime SurfacePredictor::by_roofline(const Op& op) const {
  KernelTime t;
  const Flops work = flops(op);
  if (work > Flops(0)) t.compute = work / gpu_.rate(arithmetic(op));
  t.memory = bytes(op) / gpu_.memory.bandwidth;
  const Seconds bound = std::max(t.compute, t.memory);
  t.time = {kRooflineFloor + bound * kRooflineFactor, kAnalyticalShared, kAnalyticalOwn,
            Origin::kAnalytical, Tails::kHeavy};
  t.bound = kRooflineFloor > bound ? Bound::kLaunch
            : t.compute > t.memory ? Bound::kCompute
                                   : Bound::kMemory;
  return t;
}

}  // namespace orrery
