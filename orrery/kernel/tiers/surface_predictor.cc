#include "orrery/kernel/tiers/surface_predictor.h"

namespace orrery {
namespace {

// A discrete shape (the experts of one model) that was not measured: one standard deviation of the
// errors of fits without one model at a time, on the rows of that model (docs/kernels.md).
constexpr double kOtherShapeError = 0.17;

// Floor and slowdown of the roofline for ops of no family: docs/reference/kernels.md, section Ops
// without a kernel family.
constexpr Seconds kRooflineFloor = microseconds(10);
constexpr double kRooflineFactor = 1.5;

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
  t.time.own = std::hypot(t.time.own, exchanged, family.extrapolation_error().at(distance));
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
  add_up(family.analytical_floor(), p.base * family.analytical_inefficiency(op, gpu_), p, t);
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
