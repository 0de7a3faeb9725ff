// What one rank executes for one micro-batch of training on one virtual stage: the forward Program
// (program.h) and, derived from it op by op, recomputation and the two backward passes.
//
// Forward to backward
//   product with a weight   the input's gradient (a second product); the weight's (a third), unless
//                           the weight is frozen
//   attention               AttentionBackward where its scores are not kept (FlashAttention);
//                           without it, softmax and two batched products a pass, all in memory
//   routed experts          two products an expert, like any others, and an activation (or one
//                           kernel for a rank's experts: one_for_all); the
//                           router's small kernels, the copies that lay tokens out by expert, and
//                           biases of the second product (gpt-oss)
//   recurrent mixers        twice the forward, in the input's pass
//   elementwise             gradient() of op.h
//   embedding               the scatter of gradients, in the weight's pass
//   collectives             as many again: the all-reduce of a row-parallel product's output has
//   its
//                           mirror at the input of a column-parallel one
//
// Beside the forward Program
//   sequence parallel       an all-reduce is a reduce-scatter and an all-gather; the backward pass
//                           gathers the products' inputs once more; norms and residual adds have
//                           1/tp of the rows (Korthikanti et al. 2022)
//   experts split by ep     tokens go to their experts and results back as ExpertDispatcher says,
//   in
//                           16 bits (Megatron casts after), by the load of the busiest rank; where
//                           etp is 1, tokens stay divided; else etp ranks gather their copies
//   context parallel        keys and values as ContextMethod says; twice backward; again wherever
//                           attention is recomputed
//   narrow formats          products read 8- or 4-bit operands: casts of inputs and gradients, each
//                           with its transpose, and of weights once an iteration
//   LM head and loss        vocabulary-parallel; the loss in fp32 with its three reductions
//   LoRA                    two thin products beside each adapted one; QLoRA widens the base first;
//                           DoRA takes the norms of the adapted weights' columns
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

enum class TrainingPass { kForward, kRecompute, kBackwardInput, kBackwardWeight };
inline constexpr std::size_t kTrainingPasses = 4;

// What a calibration tells apart.
enum class TrainingCost {
  kProducts,           // dense products
  kAttention,          // cores, forward and recomputed
  kAttentionBackward,  // their gradients
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

// Tokens of one rank on their way by ExpertDispatcher::kFlex: what decides how many copies cross
// which wires (network's ExpertExchange, whose words these are).
struct ExpertMove {
  bool combine = false;
  std::int64_t tokens = 0;
  int hidden = 0, top_k = 1, most_nodes = 0, groups = 1, top_groups = 1;
  double imbalance = 1;
};

struct TrainingOp {
  Op op;
  double count = 1;
  std::string_view name;  // of the forward op that it is or comes from
  TrainingPass pass = TrainingPass::kForward;
  TrainingCost cost = TrainingCost::kProducts;
  Part part = Part::kMlp;
  bool fusible = false;  // folded into a neighbour by stacks that fuse
  // What adding a weight's gradient costs where it is not a part of the product's kernel.
  bool accumulates = false;
  std::optional<ExpertMove> move{};  // the op is then the all-to-all of a copy for each rank
  // Of the products of a rank's experts, `count` of them alike: how many one kernel for all experts
  // would take at once (one_for_all).
  int experts = 1;
  // Of a collective: its ranks are so many times as far apart as its group's.
  int apart = 1;
  // Around the products of experts, of what a kernel that fuses them does itself: the activation,
  // the cast between the two products and the mirrored one, biases.
  bool between_experts = false;
};

// Of virtual stage `chunk`. REQUIRES that check_job accepts.
std::vector<TrainingOp> training_ops(const Architecture& model, const TrainingJob& job, int chunk);

// A kernel that runs the products of a rank's experts in one launch (torch._grouped_mm, CUTLASS's
// grouped product): of the same FLOPs, weights, results and tiles as one product with the columns
// of all, whose waves the experts share. Its rows are an expert's: of what it reads the inputs of
// the others are not counted, which are little beside the weights wherever memory decides.
// REQUIRES op.experts > 1.
TrainingOp one_for_all(TrainingOp op);

// FLOPs of a token's forward and backward pass through the model, by the field's convention for
// MFU: three times the forward's products and attention (causal pairs only), recomputation not
// counted; with LoRA no gradients of frozen weights.
double model_flops_per_token(const Architecture& model, const TrainingJob& job);

}  // namespace orrery
