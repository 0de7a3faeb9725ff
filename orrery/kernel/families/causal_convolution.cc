// The short causal convolution in front of a recurrent token mixer (Mamba-2, Gated DeltaNet, KDA).
//
// Memory-bound: base = setup + time to move the channels in and out (and, decoding, the window of
// each sequence). Coordinates: log2 of sequences, of new tokens, of channels. Classes: prefill and
// decode for each mixer; KDA's prefill call is three convolutions (queries, keys, values).
#include <array>
#include <cmath>

#include "orrery/base/quick_math.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/memory_bound.h"

namespace orrery {
namespace {

class CausalConvolutionFamily : public KernelFamily {
 public:
  CausalConvolutionFamily() {
    classes_[0].sources = {{"gdn_prefill"}, {"mamba2_prefill", 1, 0.3}};
    classes_[1].sources = {{"gdn_decode"}, {"mamba2_decode", 1, 0.2}};
    classes_[2].sources = {{"mamba2_prefill"}, {"gdn_prefill", 1, 0.3}};
    classes_[3].sources = {{"mamba2_decode"}, {"gdn_decode", 1, 0.2}};
    classes_[4].sources = {{"kda_prefill"}, {"gdn_prefill", 1.2, 0.25}};
    classes_[5].sources = {{"kda_decode"}, {"gdn_decode", 1, 0.2}};
  }

  std::string_view name() const override { return "causal_convolution"; }
  KernelKinds kinds() const override { return kinds_of<CausalConvolution>(); }
  std::vector<std::vector<double>> axes() const override {
    return {{0, 2, 3, 4, 5, 6, 7, 8, 10}, {0, 2, 4, 6, 8, 10, 12, 13, 15}, {8, 10, 11, 12, 13, 14}};
  }
  std::span<const KernelClass> classes() const override { return classes_; }
  int class_of(const Op& op) const override {
    const auto& c = std::get<CausalConvolution>(op);
    const int mixer = c.mixer == LinearAttentionCore::Kind::kMamba2      ? 2
                      : c.mixer == LinearAttentionCore::Kind::kKimiDelta ? 4
                                                                         : 0;
    return mixer + (c.decode ? 1 : 0);
  }

  KernelPoint point(const Op& op, const KernelGpu& gpu, bool warm) const override {
    const auto& c = std::get<CausalConvolution>(op);
    KernelPoint p = memory_bound_point(op, gpu, warm, kSetup);
    p.x = {quick_log2(real(c.batch)), quick_log2(real(c.new_tokens)), quick_log2(real(c.channels)),
           0};
    return p;
  }

  // 0.65 to 0.75 of the bandwidth with SGLang and vLLM on Hopper and Blackwell (kernel tables,
  // docs/data.md).
  double analytical_inefficiency(const Op&, const KernelGpu&) const override { return 1.45; }
  Seconds analytical_floor() const override { return microseconds(3); }

 private:
  static constexpr Seconds kSetup = microseconds(1);
  std::array<KernelClass, 6> classes_;
};

}  // namespace

const KernelFamily& causal_convolution_family() {
  static const CausalConvolutionFamily family;
  return family;
}

}  // namespace orrery
