// What the forward pass of a layer leaves in memory for the backward pass: the tensors that each op
// saves, of one micro-batch, on one rank.
//
// With T tokens of a rank (micro_batch * seq / cp), U = T/tp under sequence parallelism and T
// without, h hidden, a heads, e bytes of the activations, x bytes of an operand of a large product
// (e, or less in fp8 and fp4), all widths those of one rank:
//   norm             e h U its input; eager RMS norms: 4 h U, and e h U the normed row
//   projections in   x h U, shared by q, k, v (by gate and up)
//   attention        e (q + k + v + out) T; flash: 4 a T log-sum-exps
//     without flash  e a T seq softmax; with dropout e + 1 more, of the dropped weights and the
//     mask
//   out projection   its input is attention's output; in fp8 a copy
//   gated MLP        e 2 f T, and x f T the product; eager: e f T more, the activated gate
//   plain MLP        e f T, and x f T
//   MoE              e h U the router's input, 8 bytes an expert; of the R = T top_k etp/tp rows
//                    that a rank's experts take on average: x h R, as an MLP, e h R their output
//   dropout          1 byte an element of h U, twice
// For a GPT layer (norms with biases, f = 4h) that is s b h (10 + 24/t + 5 a s/(h t)) bytes, and
// s b h / t (34 + 5 a s/h) with sequence parallelism: table 2 of Korthikanti et al. 2022.
//
// Of frozen weights (LoRA) a product's input is kept only where an adapter needs it.
#pragma once

#include "orrery/base/units.h"
#include "orrery/memory/training_constants.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct LayerActivations {
  Bytes saved;  // all of the above
  Bytes core;   // of it, the core of attention
  Bytes input;  // the layer's input: what is kept of a layer that is recomputed
  // What selective recomputation of products keeps (TrainingMemoryConstants::selective_products).
  Bytes products;
  // Gradients alive at once within the layer's backward pass, beyond the saved tensors freed by
  // then: of its input and output, and of the operands of the widest op (for a gated MLP of gate
  // and up, for a plain one of the inner width, for attention of q, k and v).
  Bytes gradients;
};

// REQUIRES that check_job accepts.
LayerActivations layer_activations(const Architecture& model, const LayerSpec& layer,
                                   const TrainingJob& job, const TrainingMemoryConstants& stack);

// What a micro-batch leaves of one virtual stage under the job's recomputation; the last one's
// final norm and LM head included, logits not. Without the fitted `factor`.
Bytes chunk_activations(const Architecture& model, const TrainingJob& job,
                        const TrainingMemoryConstants& stack, int chunk);

}  // namespace orrery
