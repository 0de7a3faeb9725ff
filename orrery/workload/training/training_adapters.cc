#include "orrery/workload/training/training_passes.h"

#include <algorithm>
#include <cmath>

#include "orrery/workload/training/training_parameters.h"

namespace orrery {

void TrainingPasses::adapters() {
  const std::int64_t tokens = rank_tokens(job_);
  const Format format = plain_format(job_.precision.activations);
  const ProgramOp from{Op{}, 1, "lora", Part::kMlp};
  for (std::size_t i = 0; i < model_.layers.specs().size(); ++i) {
    const int count = model_.layers.count(static_cast<int>(i), range_.first, range_.last);
    if (count == 0) continue;
    for (const LayerMatrix& m : adapted_matrices(model_, model_.layers.specs()[i], job_)) {
      const RankShare share = plan_.rank_share();
      const int ranks = share.ranks_of(m.part);
      const auto elements = [&](const Width& w) {
        return std::max<std::int64_t>(1, std::llround(w.on_rank(ranks, share.cuts_groups)));
      };
      const std::int64_t in = elements(m.inputs), out = elements(m.outputs);
      const double times = count * share.copies(m);
      for (const Gemm& g : {Gemm{tokens, job_.lora_rank, in, 1, format},
                            Gemm{tokens, out, job_.lora_rank, 1, format}}) {
        forward_and_again(g, times, from, Cost::kProducts);
        const GemmGradients back = gradients(g);
        put(back.first, times, from, Pass::kBackwardInput, Cost::kProducts);
        put(back.second, times, from, Pass::kBackwardWeight, Cost::kProducts);
      }
      // The sum with the base's output, scaled; backward the scale alone.
      const Bytes whole = real(tokens) * real(out) * element_;
      const Elementwise sum{Elementwise::Kind::kActivation, tokens, out, 2 * whole, whole};
      forward_and_again(sum, times, from, Cost::kElementwise);
      put(sum, times, from, Pass::kBackwardInput, Cost::kElementwise);
      if (job_.tuning == Tuning::kDora) magnitudes(in, out, times, sum);
    }
  }
}

// DoRA (Liu et al. 2024, as torchtune writes it): the norm of every column of W + BA, once a pass
// whatever the tokens, which gradients do not go through; and the output scaled by magnitude over
// norm, with the magnitude's gradient a sum over tokens.
void TrainingPasses::magnitudes(std::int64_t in, std::int64_t out, double times,
                                const Elementwise& scale) {
  const ProgramOp from{Op{}, 1, "dora", Part::kMlp};
  const Format format = plain_format(job_.precision.activations);
  forward_and_again(Gemm{out, in, job_.lora_rank, 1, format}, times, from, Cost::kProducts);
  const Bytes weight = real(in) * real(out) * element_;
  forward_and_again(Elementwise{Elementwise::Kind::kNorm, out, in, 3 * weight, weight}, times, from,
                    Cost::kElementwise);
  forward_and_again(scale, times, from, Cost::kElementwise);
  put(scale, times, from, Pass::kBackwardInput, Cost::kElementwise);
}

}  // namespace orrery
