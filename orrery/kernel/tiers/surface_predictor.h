// The time of a call from the surfaces that serve its kernel family, or from the family's physics.
//
// Members fill in a KernelTime where the caller holds it. Building one and copying it is slow: the
// processor would wait for the parts of what it has just written.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/family.h"
#include "orrery/kernel/surface/measured_range.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/kernel/tiers/served_family.h"

namespace orrery {

class SurfacePredictor {
 public:
  // Relative errors of physics alone.
  static constexpr double kAnalyticalShared = 0.40;
  static constexpr double kAnalyticalOwn = 0.20;

  explicit SurfacePredictor(const KernelGpu& gpu) : gpu_(gpu) {}

  // `repeated`: the call is repeated on the same operands, as a sweep measures it, and kernels that
  // the measured call does not contain (KernelPoint::rest) are no part of the time.
  [[gnu::always_inline]] void predict(const ServedFamily& m, const Op& op, bool repeated,
                                      KernelTime& t) const {
    const KernelPoint p = m.family().point(op, gpu_, repeated);
    const ServedClass* c = m.of(op);
    uncalibrated(m.family(), c, op, p, repeated, t);
    if (c && c->points) calibrate(m.family(), *c, op, p, repeated, t);
    if (!repeated) t.time.value += p.rest;
  }

  // Ops of no family: the roofline, slowed down, and a floor.
  KernelTime by_roofline(const Op& op) const;

  // True if the measured range of the sweep and its discrete shapes cover the call.
  static bool is_covered(const Surface& surface, const KernelPoint& p) {
    return surface.measured_range.holds(p) && p.extrapolated == 0 &&
           (surface.series.empty() || surface.find_series(p.series));
  }

 private:
  // Memory-bound products reach 0.77 to 0.88 of the bandwidth on every NVIDIA GPU
  // (docs/reference/kernels.md, section Portable efficiency).
  static constexpr double kStreaming = 1 / 0.82;

  void calibrate(const KernelFamily& family, const ServedClass& c, const Op& op,
                 const KernelPoint& p, bool repeated, KernelTime& t) const;
  // A call outside the sweep. Not inline: most calls are covered.
  [[gnu::noinline]] void extrapolated(const KernelFamily& family, const ServedClass& c,
                                      const Op& op, const KernelPoint& p, bool repeated,
                                      KernelTime& t) const;
  // Floor and work of the replacing kernel, if it runs the call or is the faster one. Not inline:
  // few GPUs have one.
  [[gnu::noinline]] void faster(const KernelFamily& family, const Op& op, const KernelPoint& p,
                                const ServedClass& c, bool repeated, Seconds& floor,
                                Seconds& work) const;
  void analytical(const KernelFamily& family, const ServedClass* c, const Op& op,
                  const KernelPoint& p, bool repeated, KernelTime& t) const;

  // The time without KernelPoint::rest. `p`: of the same op, repeated or not.
  [[gnu::always_inline]] void uncalibrated(const KernelFamily& family, const ServedClass* c,
                                           const Op& op, const KernelPoint& p, bool repeated,
                                           KernelTime& t) const {
    if (!c || !c->served.surface) return analytical(family, c, op, p, repeated, t);
    if (!is_covered(*c->served.surface, p)) return extrapolated(family, *c, op, p, repeated, t);
    by_surface(family, *c, op, p, repeated, t);
  }

  [[gnu::always_inline]] void by_surface(const KernelFamily& family, const ServedClass& c,
                                         const Op& op, const KernelPoint& p, bool repeated,
                                         KernelTime& t) const {
    const ServingSurface& served = c.served;
    Seconds floor = served.surface->floor * served.latency;
    Seconds work = work_of(family, op, p, c, served, repeated);
    if (c.replacing.surface) faster(family, op, p, c, repeated, floor, work);
    t.time.shared = served.shared;
    t.time.own = c.own[Surface::regime_of(floor.value(), (floor + work).value())];
    t.time.origin = served.origin;
    add_up(floor, work, p, t);
  }

  static void add_up(Seconds floor, Seconds work, const KernelPoint& p, KernelTime& t) {
    t.time.value = std::max(floor + work, p.least);
    t.compute = p.compute;
    t.memory = p.memory;
    // A table instead of branches: no branch predictor can tell which bound it is.
    static constexpr std::array kBounds = {Bound::kMemory, Bound::kCompute, Bound::kLaunch,
                                           Bound::kLaunch};
    t.bound = kBounds[std::size_t{p.compute > p.memory} + 2 * std::size_t{floor > work}];
  }

  // Time above the floor, by one of the surfaces of `c`.
  [[gnu::always_inline]] Seconds work_of(const KernelFamily& family, const Op& op,
                                         const KernelPoint& p, const ServedClass& c,
                                         const ServingSurface& s, bool repeated) const {
    double surface = quick_exp_within(c.lookup->at(*s.surface, p));
    if (s.relative) surface = carried(surface, family, op, p, s);
    surface *= s.factor;
    // The surface holds for operands as they were measured: those that fit stay in the L2. A call
    // of a step, whose weights come from memory, takes at least that time, and at least the time to
    // stream its operands. A call that is slow for another reason (few blocks, latency) is not made
    // slower.
    if (repeated || s.origin == Origin::kFitted) return p.base * surface;
    const Seconds again = p.repeated > Seconds(0) ? p.repeated : repeated_base(family, op, p);
    return std::max(again * surface, p.base * std::min(surface, kStreaming));
  }

  double carried(double there, const KernelFamily& family, const Op& op, const KernelPoint& p,
                 const ServingSurface& s) const {
    return carried_over(there, op, p, gpu_, family.point(op, *s.relative, true), *s.relative,
                        family.fill_and_drain() * (1 - s.latency));
  }

  Seconds repeated_base(const KernelFamily& family, const Op& op, const KernelPoint& cold) const {
    return family.warm_differs(op, gpu_) ? family.point(op, gpu_, true).base : cold.base;
  }

  const KernelGpu& gpu_;
};

// The families of a kernel model, each served by the framework that `classes` names. A family
// without one is left out. The store must outlive them.
class ServedFamilies {
 public:
  ServedFamilies(const KernelClasses& classes, const SurfaceStore& store) {
    for (const KernelFamilyEntry& entry : kernel_family_entries()) {
      const std::string& framework = classes.*entry.framework;
      if (framework.empty()) continue;
      if (entry.family == &quantise_family() && !classes.casts.empty()) {
        families_.emplace_back(*entry.family, classes.casts, "", store);
        continue;
      }
      const bool gemm = entry.framework == &KernelClasses::gemm;
      families_.emplace_back(*entry.family, framework, gemm ? classes.scaled_gemm : "", store);
    }
  }
  auto begin() const { return families_.begin(); }
  auto end() const { return families_.end(); }

 private:
  std::deque<ServedFamily> families_;
};

}  // namespace orrery
