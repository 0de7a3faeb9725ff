// The program of a step: the ops that one rank executes, with repeat counts, made from the
// architecture, the parallel plan, the precision and the batch.
//
// Equal ops of a layer and of equal layers are one entry with a count. Entries are in the order in
// which they first run.
//
// Names of the ops of a step:
// - before the layers: embedding, position_embedding, segment_embedding, embedding_add,
//   embedding_norm, embedding_all_reduce
// - every layer: add_norm (a norm fused with the residual add before it), norm (other norms),
//   residual_add (parallel blocks), tp_all_reduce (one for the mixer and one for the MLP; one for
//   both in a parallel block)
// - attention residuals: attn_residual in the place of add_norm; per-layer inputs: before the
//   layers per_layer_embedding, per_layer_all_reduce, per_layer_model_proj, per_layer_all_gather,
//   per_layer_norm; in a layer per_layer_gate, per_layer_activation, per_layer_proj,
//   per_layer_add_norm (layer_input_ops.h)
// - softmax attention: qkv_proj, qkv_all_gather (RankShare::cuts_groups), qk_norm_sum,
//   qk_norm_all_reduce, qk_norm, rope (writes the cache too) or kv_write, attn_prefill,
//   attn_decode, attn_gate, o_proj; attn_gate_proj for a gate with a product of its own (one value
//   for each head, or the gate of MLA)
// - latent attention (MLA): q_kv_a_proj (one product), latent_norm, q_b_proj, or q_proj, kv_a_proj
//   and latent_norm without a low-rank query; rope; in prefill kv_b_proj (cached tokens are
//   expanded again) and attn_prefill; in decode absorb_q, attn_decode, absorb_v; o_proj
// - sparse indexer: indexer_q, indexer_k, indexer_prefill, indexer_decode (scores alone: value_dim
//   0), indexer_topk
// - compressed attention (DeepSeek-V4) and block-sparse attention (MiniMax-M3): attn_block_prefill,
//   attn_block_decode, from the normalised input to the output projection
// - residual streams: stream_copy, stream_weights, stream_collapse, stream_expand
//   (residual_stream_ops.h)
// - linear attention: in_proj, gate_proj (Gated DeltaNet; low-rank gate of Kimi's), decay_proj
//   (Kimi's), conv_prefill and conv_decode (Mamba-2, Kimi's), mixer_prefill, mixer_decode,
//   mixer_norm, o_proj
// - MLP: gate_up_proj or up_proj, activation, down_proj
// - MoE: router, moe_dispatch, moe_experts, moe_combine, shared_gate_up_proj or shared_up_proj,
//   shared_activation, shared_down_proj, shared_gate, shared_add; router_norm (Gemma 4); for
//   experts of a latent moe_latent_down, moe_latent_all_reduce, moe_latent_norm, moe_latent_up
// - formats: ..._quantise before products whose measured kernel does not quantise its input itself
//   (int8, mxfp4_fp8, int4_fp8)
// - adapters: lora_{qkv,o,up,down}_{shrink,expand}
// - after the layers: final_norm, lm_head, logits_all_gather, sample; in encoders pooler
// - between stages: pp_send
//
// Sharding. Heads and widths are divided by tp. Key-value heads are copied if there are fewer heads
// than ranks. The latent cache and the projections to it, the router and the sparse indexer are
// whole on every rank. The embedding and the LM head are split by vocabulary.
//
// Decode context parallelism (ParallelPlan::cp). The cp ranks of a group hold the tokens of one
// key-value head in turn. They gather the queries of all their heads (cp_query_all_gather), each
// attends to its own tokens with them, and they gather the log-sum-exps of the scores in fp32
// (cp_lse_all_gather), weigh their partial outputs (cp_rescale) and sum them, each its own heads
// (cp_output_reduce_scatter): cp_lse_ag_out_rs of vLLM and SGLang (--dcp-comm-backend ag_rs). New
// tokens of a prompt after cached ones go the same way in softmax attention; latent attention
// gathers the cached latents instead and expands them as before (cp_context_all_gather). Prompts
// without cached tokens have no such ops.
//
// Experts of a latent: the exchanges move rows of the latent. The partial sums of a rank are
// reduced over the tp ranks as latents, and every rank projects them back whole. The all-reduce of
// the layer then sums the shared experts.
//
// Experts. Without attention dp every rank has all tokens, and the tensor-parallel all-reduce sums
// the experts' outputs. With attention dp and ep >= dp, tokens travel to their experts and back by
// all-to-all among the ep ranks: a token is sent to min(top_k, ep) ranks, and each tensor-parallel
// rank sends its share of the tokens. With fewer expert groups than dp groups, the dp groups gather
// all tokens before the experts and scatter the sums after them.
//
// DeepEP (ParallelPlan::dispatches). The tokens are moved by moe_dispatch and moe_combine with
// their ProgramOp::move, in fp8 on the way there if the experts multiply in 8 or fewer bits, and
// the experts are a kernel that neither routes nor sums (MoeExperts::Dispatched). Steps that only
// decode use the low-latency kernels, all others the normal ones, unless the plan chooses. The
// busiest rank receives expert_imbalance times the mean, or eplb_imbalance with a load balancer.
//
// Load balancer (ExpertPlan::eplb). The op of the experts has all copies of experts, balanced, and
// as many tokens as give every rank the load of the busiest one.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/ops/expert_move.h"
#include "orrery/workload/ops/op.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Sequences of a step with equal sizes. Each computes `new_tokens` tokens after `past` cached ones;
// one new token with past > 0 is decoding.
struct SequenceGroup {
  std::int64_t sequences = 1;
  std::int64_t new_tokens = 1;
  double past = 0;  // mean over the sequences
  bool sampled =
      true;  // the step yields a next token; false for all but the last chunk of a prefill
  // Speculative decoding: the new tokens are a decoded one and the drafts after it. Attention runs
  // as in decode, each cached key is read once for all new tokens, and all of them need logits.
  bool verify = false;
  bool decoding() const { return past > 0 && (new_tokens == 1 || verify); }
};

// Low-rank adapters of one shape.
struct LoraShape {
  int rank = 0;
  bool mlp = true;  // adapters of the MLP's projections as well as of attention's
};

// The batch of one step on the whole deployment. Under attention dp it is divided among the dp
// groups, and the program is that of the busiest group.
struct Batch {
  std::vector<SequenceGroup> groups;
  std::int64_t adapters = 0;  // number of different adapters in use (lora_ops.h)
  LoraShape lora = {};
  // Tokens that all dp groups compute in the step. If above 0, `groups` are the sequences of the
  // busiest dp group alone.
  std::int64_t all_tokens = 0;
  std::int64_t tokens() const;
  std::int64_t sequences() const;
};

enum class Part { kEmbedding, kAttention, kMlp, kMoe, kLmHead, kSampling, kCommunication };
std::string_view to_text(Part part);

struct ProgramOp {
  Op op;
  double count = 1;       // times that the op runs in a step
  std::string_view name;  // one of the names above; static text
  Part part = Part::kMlp;
  // True for a kernel that engines which fuse fold into a neighbour; eager execution launches it.
  bool fusible = false;
  // True for the products, activations and gate of shared experts, which an engine may run on a
  // second stream while the routed experts run.
  bool shared_expert = false;
  // True for the ops that RecomputeModule::kMlaUpProj runs again.
  bool up_projection = false;
  // The LayerSpec of the model that the op belongs to; -1 outside of the layers.
  int spec = -1;
  // Sizes of a dispatch or combine by DeepEP's kernels; the op is then the all-to-all of a copy of
  // each token for each of its experts.
  std::optional<ExpertMove> move = std::nullopt;
};

struct Program {
  std::vector<ProgramOp> ops;
  std::int64_t tokens = 0;     // tokens that the rank computes, padding included
  std::int64_t sequences = 0;  // sequences of its dp group for which the step yields a token
  int layers = 0;              // layers that the rank executes
};

// Some layers of a stack, with (`start`, `end`) or without the ops before the first layer of the
// model and after the last.
struct LayerSlice {
  StageLayers layers;
  bool start = true, end = true;
};

struct ProgramOptions {
  double expert_skew = 0;  // exponent of the power law of expert loads
  // Pipeline stage; -1: the stage with the most weights to multiply, LM head included.
  int stage = -1;
  // Tokens of each dp group that projections and collectives compute in addition to the batch's,
  // because a graph was captured for a larger batch. Attention and sampling skip them.
  std::int64_t padding = 0;
  // Layers to execute in place of those of a stage, without a send between stages.
  std::optional<LayerSlice> slice = std::nullopt;
};

// The program of one forward step. All decoding sequences are one attention call at their mean
// context, as engines run them; its FLOPs and bytes are those of separate calls. Every other group
// is a call of its own. Throws as check_plan does. InputError: a batch without tokens, with
// negative or huge sizes, with past tokens on an encoder, or a stage that does not exist.
Program forward_program(const Architecture& model, const ParallelPlan& plan,
                        const Precision& precision, const Batch& batch,
                        const ProgramOptions& options = {});

}  // namespace orrery
