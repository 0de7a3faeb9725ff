#include "orrery/kernel/tiers/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/family.h"
#include "orrery/kernel/surface/measured_range.h"
#include "orrery/kernel/tiers/layer_times.h"
#include "orrery/kernel/tiers/served_family.h"

namespace orrery {
namespace {

// Errors of physics alone, relative.
constexpr double kAnalyticalError = 0.40;
constexpr double kAnalyticalOwn = 0.20;

// Memory-bound products reach 0.77 to 0.88 of the bandwidth on every NVIDIA GPU (data/kernels).
constexpr double kStreaming = 1 / 0.82;

// Gradients' products and elementwise kernels on the surfaces of forward ones: other
// operand layouts, sums over rows. At best transferred. Both gradients of a linear layer together
// take 0.82 to 0.98 of two forward products (medians by GPU; V100, A100, MI100, MI210;
// data/training/neusight_ops).
constexpr double kGradientError = 0.12;

// FlashAttention's backward pass: 2.5 times the forward's FLOPs, at a lower rate: the ratio of the
// rates as training runs show it (../shared/reference/training.md), the mean of the three
// elsewhere. Not measured kernel by kernel: wide.
constexpr double kBackwardFlops = 2.5;
constexpr double kAttentionBackwardError = 0.20;
double backward_factor(const Gpu& gpu) {
  if (gpu.architecture == "ampere") return 1.49;
  if (gpu.architecture == "hopper") return 1.28;
  return gpu.architecture == "blackwell" ? 1.36 : 1.38;
}

// A discrete shape (the experts of a model) that was not measured: what fits without one model at a
// time are off on its rows, as one standard deviation (docs/kernels.md).
constexpr double kOtherShapeError = 0.17;

bool is_gradient(const Op& op) {
  if (const auto* g = std::get_if<Gemm>(&op)) return g->gradient;
  if (const auto* e = std::get_if<Elementwise>(&op)) return e->gradient;
  return false;
}
bool is_backward(const Op& op) {
  return is_gradient(op) || std::holds_alternative<AttentionBackward>(op);
}

const std::string& framework_of(const KernelClasses& c, std::string_view family) {
  // Gradients are PyTorch's, whatever engine serves.
  static const std::string torch = "pytorch";
  if (family == "gemm_gradient" || family == "attention_backward") return torch;
  if (family.starts_with("attention")) return c.attention;
  if (family.starts_with("moe")) return c.moe;
  if (family.starts_with("mla") || family == "sparse_attention") return c.mla;
  if (family == "linear_attention" || family == "causal_convolution") return c.linear_attention;
  if (family == "row_kernels") return c.rows;
  return c.gemm;
}

class SurfaceKernelModel : public KernelModel {
 public:
  SurfaceKernelModel(const Gpu& gpu, const KernelClasses& classes, const Bundle& bundle,
                     TierChoice tier)
      : gpu_(gpu), store_(gpu, bundle, tier) {
    if (tier == TierChoice::kBest && classes.gemm == "vllm") {
      if (const auto file = bundle.find(layer_times_path(gpu.id)))
        layers_ = parse_layer_times(file->content, file->name);
    }
    for (const KernelFamily* family : kernel_families()) {
      const std::string& framework = framework_of(classes, family->name());
      if (framework.empty()) continue;
      const ServedFamily& served = families_.emplace_back(*family, framework, store_);
      for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
        if (family->serves(static_cast<KernelKind>(kind))) by_kind_[kind].push_back(&served);
      }
    }
  }

  KernelTime predict(const Op& op) const override {
    KernelTime t;
    t.time.tails = Tails::kHeavy;
    if (is_backward(op)) {
      backward(op, t);
    } else {
      forward(op, t);
      if (layers_) of_layers(op, t);
    }
    return t;
  }

  KernelTime predict_repeated(const Op& op, std::string_view family) const override {
    for (const ServedFamily& m : families_) {
      if (m.family().name() != family) continue;
      KernelTime t;
      t.time.tails = Tails::kHeavy;
      predict(m, op, true, t);
      return t;
    }
    return by_roofline(op);
  }

  std::string provenance(const Op& op) const override {
    if (layers_ && layers_->time(op)) return fmt::format("layers of vLLM measured on {}", gpu_.id);
    if (const ServedFamily* measured = measured_gradient(op)) return provenance(*measured, op);
    if (const auto* backward = std::get_if<AttentionBackward>(&op))
      return fmt::format("{:.2f} times the forward pass: {}",
                         kBackwardFlops * backward_factor(gpu_), provenance(backward->forward));
    for (const ServedFamily* m : serving(op)) {
      if (m->of(op)) return provenance(*m, op);
    }
    return fmt::format("data sheet of {} and physics", gpu_.id);
  }

 private:
  std::string provenance(const ServedFamily& m, const Op& op) const {
    const ServedClass* c = m.of(op);
    const ServingSurface& s = c->served;
    const std::string points =
        c->points ? fmt::format(", corrected by {} points measured on it", c->points->points.size())
                  : "";
    if (!s.surface) return fmt::format("data sheet of {} and physics{}", gpu_.id, points);
    if (s.gpu.empty()) {
      return fmt::format("{} of {}, fitted on layers of several GPUs", s.surface->kernel_class,
                         m.family().name());
    }
    const std::string replaced =
        c->replaced ? fmt::format(" (this generation replaced {})", c->replaced) : "";
    const bool covered = is_covered(*s.surface, m.family().point(op, gpu_, true));
    return fmt::format("{} {} of {} measured on {}{}{}{}", c->by_torch ? kTorch : m.framework(),
                       s.surface->kernel_class, m.family().name(), s.gpu, replaced, points,
                       covered ? "" : ", at other sizes");
  }

  // What an engine was measured to run takes the measured time.
  void of_layers(const Op& op, KernelTime& t) const {
    if (const auto measured = layers_->time(op)) t.time = *measured;
  }

  const std::vector<const ServedFamily*>& serving(const Op& op) const {
    return by_kind_[static_cast<std::size_t>(kind_of(op))];
  }

  // The family that has a surface of this gradient, from a sweep; null: none, or no gradient.
  const ServedFamily* measured_gradient(const Op& op) const {
    if (!is_backward(op)) return nullptr;
    for (const ServedFamily* m : serving(op)) {
      const ServedClass* c = m->of(op);
      if (c && c->served.surface && c->served.surface->kernel_class.ends_with("gradient")) return m;
    }
    return nullptr;
  }

  // All that follows fills in a KernelTime where the caller has it: to build one and copy it is
  // slow, since the processor must wait for the parts of what it has just written.

  void backward(const Op& op, KernelTime& t) const {
    if (const ServedFamily* measured = measured_gradient(op))
      return predict(*measured, op, false, t);
    const auto* attention = std::get_if<AttentionBackward>(&op);
    if (attention) {
      attention_backward(*attention, t);
    } else {
      forward(op, t);
    }
    if (layers_) of_layers(op, t);
    if (attention) return;
    t.time.shared = std::hypot(t.time.shared, kGradientError);
    t.time.origin = std::max(t.time.origin, Origin::kTransferred);
  }

  void attention_backward(const AttentionBackward& backward, KernelTime& t) const {
    const Op op = backward;
    forward(backward.forward, t);
    t.compute = flops(op) / gpu_.rate(arithmetic(op));
    t.memory = bytes(op) / gpu_.memory.bandwidth;
    t.time = t.time.scaled(kBackwardFlops * backward_factor(gpu_));
    t.time.value = std::max({t.time.value, t.compute, t.memory});
    t.time.shared = std::hypot(t.time.shared, kAttentionBackwardError);
    t.time.origin = std::max(t.time.origin, Origin::kTransferred);
    if (t.bound != Bound::kLaunch)
      t.bound = t.compute > t.memory ? Bound::kCompute : Bound::kMemory;
  }

  [[gnu::always_inline]] void forward(const Op& op, KernelTime& t) const {
    const auto& families = serving(op);
    if (families.empty()) {
      t = by_roofline(op);
    } else {
      predict(*families.front(), op, false, t);
    }
  }

  [[gnu::always_inline]] void predict(const ServedFamily& m, const Op& op, bool repeated,
                                      KernelTime& t) const {
    const KernelPoint p = m.family().point(op, gpu_, repeated);
    const ServedClass* c = m.of(op);
    uncalibrated(m.family(), c, op, p, repeated, t);
    if (c && c->points) calibrate(m.family(), *c, op, p, repeated, t);
    if (!repeated) t.time.value += p.rest;
  }

  void calibrate(const KernelFamily& family, const ServedClass& c, const Op& op,
                 const KernelPoint& p, bool repeated, KernelTime& t) const {
    // It was made for repeated calls: what they are off by, a call of a step is too.
    const KernelPoint warm = repeated ? p : family.point(op, gpu_, true);
    KernelTime its = t;
    if (!repeated) uncalibrated(family, &c, op, warm, true, its);
    const double factor = c.points->factor(calibration_place(its.time.value, warm));
    t.time = {std::max(t.time.value * factor, p.least), c.points->shared, c.points->own,
              Origin::kTransferred, Tails::kHeavy};
  }

  // `p`: of the same op, repeated or not. Without KernelPoint::rest.
  [[gnu::always_inline]] void uncalibrated(const KernelFamily& family, const ServedClass* c,
                                           const Op& op, const KernelPoint& p, bool repeated,
                                           KernelTime& t) const {
    if (!c || !c->served.surface) return analytical(family, op, p, t);
    if (!is_covered(*c->served.surface, p)) return extrapolated(family, *c, op, p, repeated, t);
    by_surface(family, *c, op, p, repeated, t);
  }

  // Whether the sweep's calls cover this one.
  static bool is_covered(const Surface& surface, const KernelPoint& p) {
    return surface.measured_range.holds(p) && p.extrapolated == 0 &&
           (surface.series.empty() || surface.find_series(p.series));
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

  // A call that no sweep covers (measured_range.h). Not inline: most are covered.
  [[gnu::noinline]] void extrapolated(const KernelFamily& family, const ServedClass& c,
                                      const Op& op, const KernelPoint& p, bool repeated,
                                      KernelTime& t) const {
    const Surface& surface = *c.served.surface;
    KernelPoint nearest = p;
    const double carried = surface.measured_range.exchange(family.axis_exchanges(), nearest);
    by_surface(family, c, op, nearest, repeated, t);
    const double distance = surface.measured_range.distance(nearest) + p.extrapolated;
    t.time.own = std::hypot(t.time.own, carried, family.extrapolation_error().at(distance));
    const bool other_shape = !surface.series.empty() && !surface.find_series(p.series);
    if (other_shape) t.time.own = std::hypot(t.time.own, kOtherShapeError);
    if (distance >= kFarExtrapolation || other_shape)
      t.time.origin = std::max(t.time.origin, Origin::kTransferred);
  }

  // Floor and work of the replacing kernel, if it is the faster. Not inline: few GPUs have one.
  [[gnu::noinline]] void faster(const KernelFamily& family, const Op& op, const KernelPoint& p,
                                const ServedClass& c, bool repeated, Seconds& floor,
                                Seconds& work) const {
    const Seconds its_work = work_of(family, op, p, c, c.replacing, repeated);
    const Seconds its_floor = c.replacing.surface->floor * c.replacing.latency;
    if (its_floor + its_work >= floor + work) return;
    floor = its_floor;
    work = its_work;
  }

  void analytical(const KernelFamily& family, const Op& op, const KernelPoint& p,
                  KernelTime& t) const {
    t.time.shared = kAnalyticalError;
    t.time.own = kAnalyticalOwn;
    t.time.origin = Origin::kAnalytical;
    add_up(family.analytical_floor(), p.base * family.analytical_inefficiency(op, gpu_), p, t);
  }

  static void add_up(Seconds floor, Seconds work, const KernelPoint& p, KernelTime& t) {
    t.time.value = std::max(floor + work, p.least);
    t.compute = p.compute;
    t.memory = p.memory;
    // Which it is, no branch predictor can tell.
    static constexpr std::array kBounds = {Bound::kMemory, Bound::kCompute, Bound::kLaunch,
                                           Bound::kLaunch};
    t.bound = kBounds[std::size_t{p.compute > p.memory} + 2 * std::size_t{floor > work}];
  }

  // `s`: one of those of `c`.
  [[gnu::always_inline]] Seconds work_of(const KernelFamily& family, const Op& op,
                                         const KernelPoint& p, const ServedClass& c,
                                         const ServingSurface& s, bool repeated) const {
    double surface = quick_exp_within(c.lookup->at(*s.surface, p));
    if (s.relative) surface = carried(surface, family, op, p, s);
    surface *= s.factor;
    // The surface holds for operands as they were measured: those that fit stay in the L2. A call
    // of a step, whose weights come from memory, takes at least that time, and at least what
    // streaming its operands takes. What is slow for another reason (few blocks, latency) is not
    // made slower.
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

  // Ops of no family: the roofline at the efficiencies that memory-bound and compute-bound kernels
  // commonly reach.
  KernelTime by_roofline(const Op& op) const {
    KernelTime t;
    const Flops work = flops(op);
    if (work > Flops(0)) t.compute = work / gpu_.rate(arithmetic(op));
    t.memory = bytes(op) / gpu_.memory.bandwidth;
    const Seconds floor = microseconds(10);
    const Seconds bound = std::max(t.compute, t.memory);
    t.time = {floor + bound * 1.5, kAnalyticalError, kAnalyticalOwn, Origin::kAnalytical,
              Tails::kHeavy};
    t.bound = floor > bound          ? Bound::kLaunch
              : t.compute > t.memory ? Bound::kCompute
                                     : Bound::kMemory;
    return t;
  }

  const KernelGpu gpu_;
  const SurfaceStore store_;
  std::deque<ServedFamily> families_;
  std::optional<LayerTimes> layers_;  // of the engine whose layers were measured: vLLM
  std::array<std::vector<const ServedFamily*>, kKernelKinds> by_kind_;  // the first is asked
};

}  // namespace

std::string_view to_text(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLaunch:
      return "launch";
    case Bound::kNetwork:
      return "network";
  }
  return "";
}

std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle, TierChoice tier) {
  return std::make_unique<SurfaceKernelModel>(gpu, classes, bundle, tier);
}

}  // namespace orrery
