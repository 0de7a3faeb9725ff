// Memory-bound kernels of a framework that launches each operation on its own (eager PyTorch):
// softmax, norms, and pointwise work (adds, activations, copies, masks). Serving engines fuse this
// work and are served by elementwise.cc; KernelClasses::rows decides.
//
// base = setup + time to move the operands. Coordinates: log2 of rows and of width. Classes:
// softmax, layer_norm, pointwise; their backward kernels move more (the op's bytes say how much)
// and use the forward's surface with an error of its own.
#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families.h"

namespace orrery {
namespace {

class RowKernelFamily : public KernelFamily {
 public:
  RowKernelFamily() {
    classes_[0].choices = {{"pointwise"}};
    classes_[1].choices = {{"softmax"}, {"pointwise", 1.1, 0.15}};
    classes_[2].choices = {{"layer_norm"}, {"pointwise", 1.1, 0.15}};
  }

  std::string_view name() const override { return "row_kernels"; }
  OpKinds kinds() const override { return kinds_of<Elementwise>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 4, 6, 8, 10, 12, 14, 17, 20}, {0, 4, 6, 8, 9, 10, 11, 12, 13, 14}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    switch (std::get<Elementwise>(op).kind) {
      case Elementwise::Kind::kSoftmax:
        return 1;
      case Elementwise::Kind::kNorm:
      case Elementwise::Kind::kAddNorm:
        return 2;
      default:
        return 0;
    }
  }

  KernelPoint point(const Op& op, const Gpu& gpu, bool warm) const override {
    const auto& e = std::get<Elementwise>(op);
    KernelPoint p;
    p.memory = bytes(op) / gpu.memory.bandwidth;
    const Bytes cached = warm ? cached_on_repeat(bytes(op), gpu) : if_cached(bytes(op), gpu);
    p.base = kSetup + move_time(bytes(op), cached, gpu);
    p.least = least_move_time(bytes(op), cached, gpu);
    p.x = {quick_log2(static_cast<double>(std::max<std::int64_t>(e.rows, 1))),
           quick_log2(static_cast<double>(std::max<std::int64_t>(e.width, 1))), 0, 0};
    return p;
  }

  // V100, A100: 0.88 to 0.93 of the bandwidth; Pascal, T4 and AMD: 0.72 to 0.79
  // (data/training/neusight_kernels).
  double analytical_inefficiency(const Op&, const Gpu&) const override { return 1.2; }
  Seconds analytical_floor() const override { return microseconds(5); }

  std::vector<std::string> tables() const override { return {}; }  // eager_fit.h
  bool read(const CsvReader&, std::string_view, KernelSample&) const override { return false; }

 private:
  static constexpr Seconds kSetup = microseconds(1);
  std::array<KernelClass, 3> classes_;
};

}  // namespace

const KernelFamily& row_kernel_family() {
  static const RowKernelFamily family;
  return family;
}

}  // namespace orrery
