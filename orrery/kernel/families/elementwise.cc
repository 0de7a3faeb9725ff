// Memory-bound work: norms, activations, adds, rotary, quantisation, sampling, embedding lookups,
// and the optimizer's step.
//
// time = floor + base * factor; base moves the operands, from the L2 where they stay in it (those
// of a decode step do). Coordinate: the share that comes from the L2. One surface of two nodes
// serves all GPUs and frameworks, fitted on layers; a sweep of a user's GPU gives its own, and of
// embedding lookups, optimizer steps and gradients too (elementwise_fit.h).
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/kernel/families/families.h"

namespace orrery {
namespace {

// A sampler is several small kernels before and after the pass over the logits: 12 us (RTX PRO
// 6000) to 25 us (RTX 4090) for one sequence in vLLM 0.19 (measured layers, docs/data.md).
constexpr Seconds kSamplerKernels = microseconds(10);

class ElementwiseFamily : public KernelFamily {
 public:
  ElementwiseFamily() {
    classes_[0].sources = {{"memory_bound"}};
    classes_[1].sources = {{"embedding"}, {"memory_bound"}};
    classes_[2].sources = {{"optimizer"}, {"memory_bound"}};
    classes_[3].sources = {{"gradient"}, {"memory_bound"}};
  }

  std::string_view name() const override { return "elementwise"; }
  KernelKinds kinds() const override {
    return kinds_of<Elementwise>() | kinds_of<Embedding>() | kinds_of<OptimizerStep>();
  }
  std::vector<std::vector<double>> axes() const override { return {{0, 1}}; }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    if (const auto* e = std::get_if<Elementwise>(&op)) return e->gradient ? 3 : 0;
    return std::holds_alternative<Embedding>(op) ? 1 : 2;
  }

  // The coordinate tells cached operands from streamed ones.
  bool warm_differs(const Op&, const KernelGpu&) const override { return false; }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    KernelPoint p;
    p.memory = bytes(op) / gpu.memory.bandwidth;
    // Embedding tables and optimizer states are far larger than any cache.
    const Bytes held = warm ? gpu.cached_on_repeat(bytes(op)) : gpu.if_cached(bytes(op));
    const Bytes cached = std::holds_alternative<Elementwise>(op) ? held : Bytes(0);
    p.least = gpu.least_move_time(bytes(op), cached);
    p.base = std::max(gpu.move_time(bytes(op), cached), Seconds(1e-9));
    if (const auto* e = std::get_if<Elementwise>(&op); e && e->kind == Elementwise::Kind::kSample)
      p.rest = kSamplerKernels;
    p.x = {bytes(op) > Bytes(0) ? cached / bytes(op) : 0, 0, 0, 0};
    return p;
  }
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(3); }

 private:
  std::array<KernelClass, 4> classes_;
};

}  // namespace

const KernelFamily& elementwise_family() {
  static const ElementwiseFamily family;
  return family;
}

}  // namespace orrery
