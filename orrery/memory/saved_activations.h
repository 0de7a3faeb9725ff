// The tensors that the forward pass of a layer saves for the backward pass, for one micro-batch on
// one rank.
//
// T is the number of tokens of a rank (micro_batch * seq / cp), U = T/tp with sequence parallelism
// and T without, h the hidden size, a the number of heads, e the bytes of an element of the
// activations, x the bytes of an operand of a large product (e, or less in fp8 and fp4), f the
// inner width of the MLP. All widths are those of one rank:
//
//   norm             e h U for its input; eager RMS norms save 4 h U, and e h U for the normed row
//   projections in   x h U, shared by q, k and v, or by gate and up
//   attention        e (q + k + v + out) T; FlashAttention adds 4 a T for log-sum-exps
//     without flash  e a T seq for the softmax; with dropout e + 1 more bytes an element, for the
//                    dropped weights and the mask
//   out projection   its input is attention's output; in fp8 a copy
//   gated MLP        e 2 f T, and x f T for the product; eager: e f T more for the activated gate
//   plain MLP        e f T, and x f T; eager kernels of a written GELU save (12 + e) f T in place
//                    of e f T under autocast, and 4 e f T without (ZeRO 3)
//   MoE              e h U for the router's input, and 8 bytes for each expert and token; of the
//                    R = T top_k etp/tp rows that the rank's experts take on average: x h R, an
//                    MLP, and e h R for their output
//                    experts of a latent have its width in the place of h
//   dropout          1 byte for each element of h U, twice
//   other mixers     as they declare (model/layers/saved_tensors.h)
//   attention residuals  2 (e h + 4 sources) U: the sum of the block so far for each half, and the
//                    weights of the sources
//   per-layer input  x h U for the gate's input, 2 e w U and x w U for its width w, e h U for the
//   norm
//
// For a GPT layer (norms with biases, f = 4h) this is s b h (10 + 24/t + 5 a s/(h t)) bytes, and
// s b h / t (34 + 5 a s/h) with sequence parallelism, as in table 2 of Korthikanti et al. 2022
// (arXiv:2205.05198).
//
// If weights are frozen (LoRA), a product's input is saved only if an adapter needs it.
#pragma once

#include "orrery/base/units.h"
#include "orrery/memory/training_constants.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// Bytes of one layer.
struct LayerActivations {
  Bytes saved;  // all tensors above
  // The part of `saved` that the job's recompute_modules drop: scores (core_attn), what the MLP or
  // the experts save besides their input (mlp, moe), the experts' activated rows (moe_act), normed
  // rows (layernorm), and q, k and v of latent attention (mla_up_proj).
  Bytes dropped;
  Bytes input;  // input of the layer, which full recomputation keeps
  // Tensors that recomputation of products keeps (RecomputeModule::kProducts).
  Bytes products;
  // Gradients alive at once in the layer's backward pass, beyond the saved tensors that are freed
  // by then: of its input and output, and of the operands of the widest op (gate and up of a gated
  // MLP, the inner width of a plain one, q, k and v of attention).
  Bytes gradients;
};

// REQUIRES that check_job accepts the job.
LayerActivations layer_activations(const Architecture& model, const LayerSpec& layer,
                                   const TrainingJob& job, const TrainingMemoryConstants& stack);

// Bytes that a micro-batch leaves in one virtual stage under the job's recomputation. The last
// virtual stage includes the final norm and the LM head, without logits. The fitted factor
// TrainingMemoryConstants::Fitted::factor is not applied.
Bytes chunk_activations(const Architecture& model, const TrainingJob& job,
                        const TrainingMemoryConstants& stack, int chunk);

}  // namespace orrery
