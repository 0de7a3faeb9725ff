// What one rank executes in one step: a list of ops with repeat counts, made from the architecture,
// the parallel plan, the precision and the batch.
//
// Equal ops of a layer and of equal layers are one entry with a count; entries stand in the order
// in which they first run.
//
// Names within a step:
// - start: embedding, position_embedding, segment_embedding, embedding_add, embedding_norm,
//   embedding_all_reduce
// - every layer: add_norm (a norm fused with the residual add before it), norm (others),
//   residual_add (parallel blocks), tp_all_reduce (once each for mixer and MLP; once for a parallel
//   block)
// - softmax attention: qkv_proj, qk_norm_sum, qk_norm_all_reduce, qk_norm, rope (writes the cache
//   too) or kv_write, attn_prefill, attn_decode, attn_gate, o_proj
// - latent attention (MLA): q_kv_a_proj (one product), latent_norm, q_b_proj, or q_proj, kv_a_proj
//   and latent_norm without a low-rank query; rope; in prefill kv_b_proj (cached tokens are
//   expanded again) and attn_prefill; in decode absorb_q, attn_decode, absorb_v; o_proj
// - sparse indexer: indexer_q, indexer_k, indexer_prefill, indexer_decode (scores alone: value_dim
//   0), indexer_topk
// - linear attention: in_proj, gate_proj (Gated DeltaNet), mixer_prefill, mixer_decode, mixer_norm,
//   o_proj
// - MLP: gate_up_proj or up_proj, activation, down_proj
// - MoE: router, moe_dispatch, moe_experts, moe_combine, shared_gate_up_proj or shared_up_proj,
//   shared_activation, shared_down_proj, shared_gate, shared_add
// - formats: ..._quantise before products whose measured kernel does not quantise its input itself
//   (int8, mxfp4_fp8, int4_fp8)
// - adapters: lora_{qkv,o,up,down}_{shrink,expand}
// - end: final_norm, lm_head, logits_all_gather, sample; of encoders: pooler
// - between stages: pp_send
//
// Sharding. Heads and widths are divided by tp; key-value heads are copied when there are fewer
// than ranks; the latent cache and projections to it, the router and the sparse indexer are whole
// on every rank. The embedding and the LM head are split by vocabulary.
//
// Experts. Without attention dp every rank has all tokens, and the tensor-parallel all-reduce sums
// the experts' output. With it and ep >= dp, tokens travel to their experts and back by all-to-all
// among the ep ranks: a token is sent to min(top_k, ep) of them, and each tensor-parallel rank
// sends its share of the tokens. With fewer expert groups the dp groups gather all tokens before
// and scatter the sums after.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/model/architecture.h"
#include "orrery/workload/ops/op.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Sequences of a step that are alike: `new_tokens` are computed after `past` cached ones.
// new_tokens 1 with past > 0 is decoding. `sampled`: the step yields a next token for each (not for
// a prefill chunk that is not the last). `verify`: the new tokens are a decoded one and drafts of
// speculative decoding after it: attention runs as in decode, each cached key is read once for all
// of them, and every one needs logits.
struct SequenceGroup {
  std::int64_t sequences = 1;
  std::int64_t new_tokens = 1;
  double past = 0;  // mean
  bool sampled = true;
  bool verify = false;
  bool decoding() const { return past > 0 && (new_tokens == 1 || verify); }
};

// Low-rank adapters of one kind.
struct LoraShape {
  int rank = 0;
  bool mlp = true;  // beside the MLP's projections too, not only attention's
};

// One step's batch on the whole deployment. Under attention dp it is divided among the groups; the
// program is that of the busiest.
struct Batch {
  std::vector<SequenceGroup> groups;
  std::int64_t adapters = 0;  // different ones in use (lora_ops.h)
  LoraShape lora = {};
  // Above 0: `groups` are those of the busiest dp group alone, and so many tokens are computed by
  // all groups together.
  std::int64_t all_tokens = 0;
  std::int64_t tokens() const;
  std::int64_t sequences() const;
};

enum class Part { kEmbedding, kAttention, kMlp, kMoe, kLmHead, kSampling, kCommunication };
std::string_view to_text(Part part);

struct ProgramOp {
  Op op;
  double count = 1;       // times a step
  std::string_view name;  // stable id within the step; text that lives as long as the program
  Part part = Part::kMlp;
  // A kernel of its own in eager execution, but folded into a neighbour by engines that fuse.
  bool fusible = false;
};

struct Program {
  std::vector<ProgramOp> ops;
  std::int64_t tokens = 0;     // that the rank computes, padding included
  std::int64_t sequences = 0;  // of its dp group that the step yields a token for
  int layers = 0;              // that the rank (stage) executes
};

// Layers of a stack that are executed alone, with or without what stands before the first and after
// the last layer.
struct LayerSlice {
  StageLayers layers;
  bool start = true, end = true;
};

struct ProgramOptions {
  double expert_skew = 0;  // exponent of the power law of expert loads
  int stage =
      -1;  // pipeline stage; -1: the one with the most weights to multiply, LM head included
  // Tokens of each dp group that projections and collectives compute beside the batch's: a graph
  // was captured for a larger batch. Attention and sampling skip them.
  std::int64_t padding = 0;
  // Instead of a stage's: these layers, and nothing is sent between stages.
  std::optional<LayerSlice> slice = std::nullopt;
};

// The program of one forward step. All decoding sequences are one attention call at their mean
// context (as engines run them; FLOPs and bytes are those of the separate calls); every other group
// is a call. Throws as check_plan does; InputError: a batch without tokens, with negative or huge
// sizes, with past tokens on an encoder, or a stage that is not there.
Program forward_program(const Architecture& model, const ParallelPlan& plan,
                        const Precision& precision, const Batch& batch,
                        const ProgramOptions& options = {});

}  // namespace orrery
