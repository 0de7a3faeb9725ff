// The ops that one rank executes for one micro-batch of training on one virtual stage: the forward
// Program (program.h) and, derived from it op by op, recomputation and the two backward passes.
//
// How the ops of the forward pass become those of the backward pass:
//   product with a weight   the gradient of the input (a second product), and that of the weight (a
//                         third) unless the weight is frozen
//   attention               AttentionBackward if its scores are not kept (FlashAttention); else
//                         softmax and two batched products per pass, all in memory
//   routed experts          two products per expert, like any other product, and an activation, or
//                         one kernel for all experts of a rank (one_for_all); the small kernels of
//                         the router, the copies that lay tokens out by expert, and biases of the
//                         second product (gpt-oss)
//   recurrent mixers        twice the forward op, in the pass of the input
//   elementwise             gradient() of op.h
//   embedding               the scatter of gradients, in the pass of the weight
//   collectives             the same number again: the all-reduce of a row-parallel product's
//                         output has its mirror at the input of a column-parallel product
//
// Ops that the forward Program of inference does not have:
//   sequence parallel       an all-reduce becomes a reduce-scatter and an all-gather; the backward
//                         pass gathers the inputs of products once more; norms and residual adds
//                         have 1/tp of the rows (Korthikanti et al. 2022, arXiv:2205.05198)
//   expert parallel         tokens travel to their experts and results back by the job's
//                         ExpertDispatcher, in 16 bits (Megatron casts afterwards), by the load of
//                         the busiest rank. If etp is 1, tokens stay divided; else etp ranks gather
//                         their copies
//   context parallel        keys and values are exchanged as ContextMethod says, twice in the
//                         backward pass, and again wherever attention is recomputed
//   narrow formats          products read 8- or 4-bit operands: casts of inputs and gradients, each
//                         with its transpose, and casts of weights once per iteration; a scale
//                         from the tensor itself takes one more pass over it
//   LM head and loss        vocabulary-parallel; the loss in fp32 with its three reductions
//   LoRA                    two thin products for each adapted product; QLoRA first dequantises the
//                         base weights; DoRA takes the norms of the columns of the adapted weights
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/hardware/gpu_architecture.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/ops/expert_move.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

enum class TrainingPass { kForward, kRecompute, kBackwardInput, kBackwardWeight };
inline constexpr std::size_t kTrainingPasses = 4;

// Kinds of work that a calibration scales separately.
enum class TrainingCost {
  kProducts,           // dense products
  kAttention,          // cores of attention, forward and recomputed
  kAttentionBackward,  // gradients of cores of attention
  kExperts,            // routed experts
  kElementwise,        // norms, activations, residual adds, the loss
  kCasts,              // between number formats
  kHead,               // LM head
  kTensor,             // tensor-parallel communication
  kContext,            // context-parallel communication
  kExpertExchange,     // all-to-all of tokens
};
inline constexpr std::size_t kTrainingCosts = 10;
std::string_view to_text(TrainingCost cost);
constexpr std::size_t at(TrainingCost cost) { return static_cast<std::size_t>(cost); }
constexpr std::size_t at(TrainingPass pass) { return static_cast<std::size_t>(pass); }

struct TrainingOp {
  Op op;
  double count = 1;
  std::string_view name;  // name of the forward op that it is or is derived from
  TrainingPass pass = TrainingPass::kForward;
  TrainingCost cost = TrainingCost::kProducts;
  Part part = Part::kMlp;
  bool fusible = false;  // folded into a neighbour by stacks that fuse
  bool of_norm = false;  // fusible, and a part of an RMS norm (StackTraits::single_norms)
  // True for the addition of a weight's gradient to earlier ones by a kernel of its own.
  bool accumulates = false;
  // Sizes of a dispatch or combine by kFlex; the op is then the all-to-all of a copy for each rank.
  std::optional<ExpertMove> move{};
  // Number of equal products, one for each expert of the rank, that a kernel for all experts would
  // run at once (one_for_all).
  int experts = 1;
  // Distance between neighbouring ranks of a collective, in multiples of its group's distance.
  int apart = 1;
  // True for copies that fill up the tokens of experts (StackTraits::padded_experts).
  bool pads = false;
  // Bytes that a cast writes for the transposed copy of its tensor. GPUs whose products take fp8
  // operands in any layout need none (transposes_operands).
  Bytes transposed{};
  // True for the ops around the products of experts that a fused kernel includes: the activation,
  // the casts between the two products, biases.
  bool between_experts = false;
};

// The ops of virtual stage `chunk`. REQUIRES that check_job accepts the job.
std::vector<TrainingOp> training_ops(const Architecture& model, const TrainingJob& job, int chunk);

// The op of a kernel that runs the products of a rank's experts in one launch (torch._grouped_mm,
// CUTLASS's grouped product). It is one product with the columns of all experts, which has the same
// FLOPs, weights, results and tiles, and whose waves the experts share. Its rows are those of one
// expert, so that the inputs of the other experts are not counted as read; they are small next to
// the weights wherever memory bounds the product. REQUIRES op.experts > 1.
TrainingOp one_for_all(TrainingOp op);

// Whether products of this precision read operands of the backward pass from transposed copies.
// Tensor cores that take fp8 operands in any layout (GpuArchitecture::any_fp8_layout) need none
// with one scale for a tensor. Scales of blocks go along the inner dimension, which differs between
// the passes.
bool transposes_operands(const TrainingPrecision& precision, const GpuArchitecture& architecture);

// The cast without its transposed copy.
TrainingOp without_transpose(TrainingOp op);

// FLOPs of the forward and backward pass of a token through the model, by the convention for MFU:
// three times the products and attention of the forward pass (causal pairs only; of recurrent
// mixers the passes over the state of Kimi's alone), without recomputation; with LoRA without
// gradients of frozen weights.
double model_flops_per_token(const Architecture& model, const TrainingJob& job);

}  // namespace orrery
