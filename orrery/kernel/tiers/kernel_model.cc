#include "orrery/kernel/tiers/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "orrery/kernel/families/family.h"
#include "orrery/kernel/tiers/layer_times.h"
#include "orrery/kernel/tiers/served_family.h"
#include "orrery/kernel/tiers/surface_predictor.h"
#include "orrery/kernel/tiers/tier_choice.h"

namespace orrery {
namespace {

// Relative error of gradients (products and elementwise kernels) on the surfaces of forward
// kernels: their operands have other layouts, and some sum over rows. Such times are transferred at
// best. The two gradients of a linear layer take 0.82 to 0.98 of two forward products (medians by
// GPU: V100, A100, MI100, MI210; NeuSight's tables, docs/data.md).
constexpr double kGradientError = 0.12;

// Attention's backward pass takes 2.5 times the FLOPs of the forward pass, at a lower rate
// (docs/reference/training.md, section Attention backward; GpuArchitecture::attention_backward).
// The error is wide because few tables time the kernel alone.
constexpr double kBackwardFlops = 2.5;
constexpr double kAttentionBackwardError = 0.20;
double backward_factor(const GpuArchitecture& a, const AttentionBackward& op) {
  if (a.attention_backward_short == 0) return a.attention_backward;
  const double tokens = std::max(256.0, static_cast<double>(op.forward.new_tokens));
  return a.attention_backward + a.attention_backward_short * std::pow(1024 / tokens, 0.6);
}

// Relative error of kernels on a GPU whose architecture has no file and that has no sweep of its
// own, in addition to the errors of a transfer. If the facts of a neighbour stand in for a known
// architecture, measured training iterations are predicted 10.6 % (Hopper by Ada), 6.3 % (Ada by
// Hopper), 4.8 % (Ampere by Turing) and 4.1 % (Blackwell by Rubin) differently, as root mean square
// (`orrery validate training --committed` with such a catalog).
constexpr double kUnknownArchitectureError = 0.1;

bool is_gradient(const Op& op) {
  if (const auto* g = std::get_if<Gemm>(&op)) return g->gradient;
  if (const auto* e = std::get_if<Elementwise>(&op)) return e->gradient;
  return false;
}
bool is_backward(const Op& op) {
  return is_gradient(op) || std::holds_alternative<AttentionBackward>(op);
}

class SurfaceKernelModel : public KernelModel {
 public:
  SurfaceKernelModel(const Gpu& gpu, const KernelClasses& classes, const Bundle& bundle,
                     TierChoice tier)
      : gpu_(gpu), store_(gpu, bundle, tier), families_(classes, store_) {
    if (tier == TierChoice::kBest && classes.gemm == "vllm") {
      if (const auto file = bundle.find(layer_times_path(gpu.id)))
        layers_ = parse_layer_times(file->content, file->name);
    }
    for (const ServedFamily& served : families_) {
      for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
        if (served.family().serves(kind)) by_kind_[kind].push_back(&served);
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
    if (!gpu_.architecture.known && t.time.origin != Origin::kMeasured)
      t.time.shared = std::hypot(t.time.shared, kUnknownArchitectureError);
    return t;
  }

  KernelTime predict_repeated(const Op& op) const override {
    const ServedFamily* family = measured_gradient(op);
    if (!family && is_backward(op)) return predict(op);
    if (!family && !serving(op).empty()) family = serving(op).front();
    if (!family) return surfaces_.by_roofline(op);
    KernelTime t;
    t.time.tails = Tails::kHeavy;
    surfaces_.predict(*family, op, true, t);
    return t;
  }

  std::string provenance(const Op& op) const override {
    if (layers_ && layers_->time(op)) return fmt::format("layers of vLLM measured on {}", gpu_.id);
    if (const ServedFamily* measured = measured_gradient(op)) return provenance(*measured, op);
    if (const auto* backward = std::get_if<AttentionBackward>(&op))
      return fmt::format("{:.2f} times the forward pass: {}",
                         kBackwardFlops * backward_factor(gpu_.architecture, *backward),
                         provenance(backward->forward));
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
    if (!s.surface) {
      return fmt::format("data sheet of {} and physics{}{}", gpu_.id,
                         c->rule && c->rule->physics ? fmt::format(" ({})", c->rule->what) : "",
                         points);
    }
    if (s.gpu.empty()) {
      return fmt::format("{} of {}, fitted on layers of several GPUs", s.surface->kernel_class,
                         m.family().name());
    }
    const bool partly = c->rule && c->rule->how == EngineKernel::How::kSome;
    const bool instead = c->rule && c->rule->how == EngineKernel::How::kInstead;
    std::string replaced;
    if (c->rule && (!partly || c->rule->applies(op))) {
      replaced = fmt::format(" (the engine runs {} here)", c->rule->what);
    } else if (c->replaced) {
      replaced = fmt::format(" (this generation replaced {})", c->replaced);
    }
    const bool covered = SurfacePredictor::is_covered(*s.surface, m.family().point(op, gpu_, true));
    const std::string_view framework = c->by_torch ? std::string_view(kTorch)
                                       : instead   ? c->rule->served_by
                                                   : std::string_view(m.framework(op));
    return fmt::format("{} {} of {} measured on {}{}{}{}", framework, s.surface->kernel_class,
                       m.family().name(), s.gpu, replaced, points,
                       covered ? "" : ", at other sizes");
  }

  // Gives layers that were measured in an engine their measured time.
  void of_layers(const Op& op, KernelTime& t) const {
    if (const auto measured = layers_->time(op)) t.time = *measured;
  }

  const std::vector<const ServedFamily*>& serving(const Op& op) const {
    return by_kind_[kernel_kind(op)];
  }

  // The family that has a surface of this gradient, from a sweep of a GPU of this architecture.
  // Null: none, or no gradient. Kernels of gradients are written for an architecture: with the
  // surfaces of an H100 on all GPUs, left-out iterations of A100 are 9.8 % off in the mean, and
  // 6.9 % with the forward surfaces of the A100.
  const ServedFamily* measured_gradient(const Op& op) const {
    if (!is_backward(op)) return nullptr;
    for (const ServedFamily* m : serving(op)) {
      const ServedClass* c = m->of(op);
      if (!c || !c->served.surface || !c->served.surface->kernel_class.ends_with("gradient"))
        continue;
      const KernelGpu* relative = c->served.relative;
      if (!relative || relative->architecture.id == gpu_.architecture.id) return m;
    }
    return nullptr;
  }

  void backward(const Op& op, KernelTime& t) const {
    if (const ServedFamily* measured = measured_gradient(op))
      return surfaces_.predict(*measured, op, false, t);
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
    t.time = t.time.scaled(kBackwardFlops * backward_factor(gpu_.architecture, backward));
    t.time.value = std::max({t.time.value, t.compute, t.memory});
    t.time.shared = std::hypot(t.time.shared, kAttentionBackwardError);
    t.time.origin = std::max(t.time.origin, Origin::kTransferred);
    if (t.bound != Bound::kLaunch)
      t.bound = t.compute > t.memory ? Bound::kCompute : Bound::kMemory;
  }

  [[gnu::always_inline]] void forward(const Op& op, KernelTime& t) const {
    const auto& families = serving(op);
    if (families.empty()) {
      t = surfaces_.by_roofline(op);
    } else {
      surfaces_.predict(*families.front(), op, false, t);
    }
  }

  const KernelGpu gpu_;
  const SurfacePredictor surfaces_{gpu_};
  const SurfaceStore store_;
  const ServedFamilies families_;
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
                                               const Bundle& bundle) {
  return make_kernel_model(gpu, classes, bundle, TierChoice::kBest);
}

std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle, TierChoice tier) {
  return std::make_unique<SurfaceKernelModel>(gpu, classes, bundle, tier);
}

}  // namespace orrery
