// Memory-bound kernels of a framework that launches each operation on its own (eager PyTorch):
// softmax, norms, and pointwise work (adds, activations, copies, masks). Serving engines fuse this
// work and are served by elementwise.cc; KernelClasses::rows decides.
//
// base = setup + time to move the operands. Coordinates: log2 of rows and of width. Classes:
// softmax, layer_norm, pointwise, and of a user's sweep (sweep_rows.h) activations with a gate,
// rotary embeddings and gradients. Backward kernels move more (the op's bytes say how much); where
// they are not measured the forward's surface serves with an error of its own.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/memory_bound.h"

namespace orrery {
namespace {

class RowKernelFamily : public KernelFamily {
 public:
  RowKernelFamily() {
    classes_[0].sources = {{"pointwise"}};
    classes_[1].sources = {{"softmax"}, {"pointwise", 1.1, 0.15}};
    classes_[2].sources = {{"layer_norm"}, {"pointwise", 1.1, 0.15}};
    classes_[3].sources = {{"gated_activation"}, {"pointwise"}};
    classes_[4].sources = {{"rotary"}, {"pointwise"}};
    classes_[5].sources = {{"softmax_gradient"}, {"softmax"}, {"pointwise", 1.1, 0.15}};
    classes_[6].sources = {{"layer_norm_gradient"}, {"layer_norm"}, {"pointwise", 1.1, 0.15}};
    classes_[7].sources = {{"gated_activation_gradient"}, {"pointwise"}};
  }

  std::string_view name() const override { return "row_kernels"; }
  KernelKinds kinds() const override { return kinds_of<Elementwise>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 4, 6, 8, 10, 12, 14, 17, 20}, {0, 4, 6, 8, 9, 10, 11, 12, 13, 14}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const auto& e = std::get<Elementwise>(op);
    switch (e.kind) {
      case Elementwise::Kind::kSoftmax:
        return e.gradient ? 5 : 1;
      case Elementwise::Kind::kNorm:
      case Elementwise::Kind::kAddNorm:
        return e.gradient ? 6 : 2;
      case Elementwise::Kind::kActivation:
        // A gate is read with the values that it scales; the gradient also reads that of the
        // result.
        if (e.gradient) return e.written > e.read * 0.6 ? 7 : 0;
        return e.read > e.written * 1.5 ? 3 : 0;
      case Elementwise::Kind::kRotary:
        return e.gradient ? 0 : 4;
      default:
        return 0;
    }
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& e = std::get<Elementwise>(op);
    KernelPoint p = memory_bound_point(op, gpu, warm, kSetup);
    p.x = {quick_log2(real(std::max<std::int64_t>(e.rows, 1))),
           quick_log2(real(std::max<std::int64_t>(e.width, 1))), 0, 0};
    return p;
  }

  // V100, A100: 0.88 to 0.93 of the bandwidth; Pascal, T4 and AMD: 0.72 to 0.79
  // (NeuSight's tables, docs/data.md).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.2; }
  Seconds analytical_floor() const override { return microseconds(5); }

 private:
  static constexpr Seconds kSetup = microseconds(1);
  std::array<KernelClass, 8> classes_;
};

}  // namespace

const KernelFamily& row_kernel_family() {
  static const RowKernelFamily family;
  return family;
}

}  // namespace orrery
