#include "orrery/workload/training/training_adapters.h"

#include <algorithm>
#include <cmath>

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;

// DoRA (Liu et al. 2024, as torchtune writes it): the norm of every column of W + BA, once a pass
// whatever the tokens, which gradients do not go through; and the output scaled by magnitude over
// norm, with the magnitude's gradient a sum over tokens.
void add_magnitudes(PassWriter& w, std::int64_t in, std::int64_t out, double times,
                    const Elementwise& scale) {
  const ProgramOp from{Op{}, 1, "dora", Part::kMlp};
  const Format format = plain_format(w.job().precision.activations);
  w.forward_and_again(Gemm{out, in, w.job().lora_rank, 1, format}, times, from, Cost::kProducts);
  const Bytes weight = real(in) * real(out) * w.element();
  w.forward_and_again(Elementwise{Elementwise::Kind::kNorm, out, in, 3 * weight, weight}, times,
                      from, Cost::kElementwise);
  w.forward_and_again(scale, times, from, Cost::kElementwise);
  w.put(scale, times, from, Pass::kBackwardInput, Cost::kElementwise);
}

}  // namespace

void add_adapters(PassWriter& w) {
  const std::int64_t tokens = rank_tokens(w.job());
  const Format format = plain_format(w.job().precision.activations);
  const ProgramOp from{Op{}, 1, "lora", Part::kMlp};
  for (std::size_t i = 0; i < w.model().layers.specs().size(); ++i) {
    const int count = w.model().layers.count(static_cast<int>(i), w.range().first, w.range().last);
    if (count == 0) continue;
    for (const LayerMatrix& m : adapted_matrices(w.model(), w.model().layers.specs()[i], w.job())) {
      const RankShare share = w.plan().rank_share();
      const int ranks = share.ranks_of(m.part);
      const auto elements = [&](const Width& width) {
        return std::max<std::int64_t>(1, std::llround(width.on_rank(ranks, share.cuts_groups)));
      };
      const std::int64_t in = elements(m.inputs), out = elements(m.outputs);
      const double times = count * share.copies(m);
      for (const Gemm& g : {Gemm{tokens, w.job().lora_rank, in, 1, format},
                            Gemm{tokens, out, w.job().lora_rank, 1, format}}) {
        w.forward_and_again(g, times, from, Cost::kProducts);
        const GemmGradients back = gradients(g);
        w.put(back.first, times, from, Pass::kBackwardInput, Cost::kProducts);
        w.put(back.second, times, from, Pass::kBackwardWeight, Cost::kProducts);
      }
      // The sum with the base's output, scaled; backward the scale alone.
      const Bytes whole = real(tokens) * real(out) * w.element();
      const Elementwise sum{Elementwise::Kind::kActivation, tokens, out, 2 * whole, whole};
      w.forward_and_again(sum, times, from, Cost::kElementwise);
      w.put(sum, times, from, Pass::kBackwardInput, Cost::kElementwise);
      if (w.job().tuning == Tuning::kDora) add_magnitudes(w, in, out, times, sum);
    }
  }
}

}  // namespace orrery
