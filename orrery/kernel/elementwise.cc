// Memory-bound work: norms, activations, adds, rotary, quantisation, sampling, and embedding
// lookups.
//
// time = floor + bytes / (efficiency * bandwidth); the operands of a decode step stay in the L2. No
// surface: the two constants are those of data/layers (norms, activation, rotary, add on A100,
// H100, A40, RTX 4090, RTX PRO 6000): 1.9 to 2.6 us a call, 0.75 of the bandwidth
// (../shared/reference/composition.md).
#include <algorithm>
#include <cmath>

#include "orrery/kernel/families.h"

namespace orrery {
namespace {

class ElementwiseFamily : public KernelFamily {
 public:
  std::string_view name() const override { return "elementwise"; }
  bool accepts(const Op& op) const override {
    return std::holds_alternative<Elementwise>(op) || std::holds_alternative<Embedding>(op);
  }
  std::vector<std::vector<double>> axes() const override { return {}; }
  std::span<const KernelClass> classes() const override { return {}; }
  int class_of(const Op&) const override { return -1; }

  KernelPoint point(const Op& op, const Gpu& gpu, bool) const override {
    KernelPoint p;
    p.memory = bytes(op) / gpu.memory.bandwidth;
    // Embedding tables are far larger than any cache.
    const Bytes cached =
        std::holds_alternative<Embedding>(op) ? Bytes(0) : if_cached(bytes(op), gpu);
    p.least = move_time(bytes(op), cached, gpu);
    p.base = std::max(p.least, Seconds(1e-9));
    return p;
  }
  double analytical_inefficiency(const Op&, const Gpu&) const override { return 1 / 0.75; }
  Seconds analytical_floor() const override { return microseconds(2.0); }
  Estimate<Seconds> analytical_error() const override {
    return {Seconds(0), 0.15, 0.15, Origin::kFitted};
  }

  std::vector<std::string> tables() const override { return {}; }
  bool read(const CsvReader&, std::string_view, KernelSample&) const override { return false; }
};

}  // namespace

const KernelFamily& elementwise_family() {
  static const ElementwiseFamily family;
  return family;
}

}  // namespace orrery
