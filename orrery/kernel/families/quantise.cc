// Scaling and rounding of activations to fp8 by a kernel of its own (static scales).
//
// base = setup + time to move the operands. Coordinates: log2 of rows and of width. One class a
// framework: SGLang's call takes three to eight times as long as moving the operands. Rows of the
// op compute_scale are clamped differences of two timings and are not read.
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/memory_bound.h"

namespace orrery {
namespace {

class QuantiseFamily : public KernelFamily {
 public:
  QuantiseFamily() { classes_[0].sources = {{"fp8_static"}}; }

  std::string_view name() const override { return "quantise"; }
  KernelKinds kinds() const override {
    return kinds_of<Elementwise>(Elementwise::Kernel::kQuantise);
  }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 3, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17}, {5, 7, 9, 10, 11, 12, 13, 14, 16}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op&) const override { return 0; }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& e = std::get<Elementwise>(op);
    KernelPoint p = memory_bound_point(op, gpu, warm, kSetup);
    p.x = {quick_log2(real(e.rows)), quick_log2(real(e.width)), 0, 0};
    return p;
  }
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.4; }
  Seconds analytical_floor() const override { return microseconds(3); }

 private:
  static constexpr Seconds kSetup = microseconds(1);
  std::array<KernelClass, 1> classes_;
};

}  // namespace

const KernelFamily& quantise_family() {
  static const QuantiseFamily family;
  return family;
}

}  // namespace orrery
