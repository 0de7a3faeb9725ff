// Ops as text for a person.
#include <fmt/format.h>

#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

std::string window_text(std::int64_t window) {
  return window > 0 ? fmt::format(", window {}", window) : std::string();
}

std::string_view elementwise_name(Elementwise::Kind kind) {
  switch (kind) {
    case Elementwise::Kind::kNorm:
      return "norm";
    case Elementwise::Kind::kAddNorm:
      return "add_norm";
    case Elementwise::Kind::kActivation:
      return "activation";
    case Elementwise::Kind::kAdd:
      return "add";
    case Elementwise::Kind::kRotary:
      return "rotary";
    case Elementwise::Kind::kQuantise:
      return "quantise";
    case Elementwise::Kind::kSoftmax:
      return "softmax";
    case Elementwise::Kind::kSample:
      return "sample";
    case Elementwise::Kind::kCopy:
      return "copy";
  }
  return "elementwise";
}

std::string_view recurrence_name(LinearAttentionCore::Kind kind) {
  switch (kind) {
    case LinearAttentionCore::Kind::kGatedDeltaNet:
      return "gated_delta_net";
    case LinearAttentionCore::Kind::kMamba2:
      return "mamba2";
    case LinearAttentionCore::Kind::kKimiDelta:
      return "kimi_delta";
  }
  return "recurrence";
}

std::string_view sparse_name(SparseAttentionBlock::Kind kind) {
  switch (kind) {
    case SparseAttentionBlock::Kind::kDsa:
      return "dsa";
    case SparseAttentionBlock::Kind::kDsaReuse:
      return "dsa_reuse";
    case SparseAttentionBlock::Kind::kCsa:
      return "csa";
    case SparseAttentionBlock::Kind::kHca:
      return "hca";
    case SparseAttentionBlock::Kind::kMsa:
      return "msa";
  }
  return "sparse";
}

std::string_view dispatch_text(MoeExperts::Dispatched d) {
  return d == MoeExperts::Dispatched::kNo       ? ""
         : d == MoeExperts::Dispatched::kDecode ? ", dispatched (decode)"
                                                : ", dispatched (prefill)";
}

struct Description {
  std::string operator()(const Gemm& g) const {
    return fmt::format("gemm {} {}[{}, {}] x [{}, {}]{}", properties(g.format).name,
                       g.batch > 1 ? fmt::format("{} x ", g.batch) : std::string(), g.m, g.k, g.k,
                       g.n, g.gradient ? " (gradient)" : "");
  }

  std::string operator()(const PrefillAttention& a) const {
    return fmt::format("attention_prefill {} kv {}: {} x {} new + {} past, heads {}/{}, dim {}{}{}",
                       to_text(a.dtype), to_text(a.kv_dtype), a.batch, a.new_tokens, a.past,
                       a.heads, a.kv_heads, a.head_dim, window_text(a.window),
                       a.causal ? "" : ", bidirectional");
  }

  std::string operator()(const DecodeAttention& a) const {
    const std::string queries = a.queries == 1 ? "" : fmt::format("{:.6g} new over ", a.queries);
    return fmt::format("attention_decode {} kv {}: {} x {}{:.6g} keys, heads {}/{}, dim {}{}",
                       to_text(a.dtype), to_text(a.kv_dtype), a.batch, queries, a.context, a.heads,
                       a.kv_heads, a.head_dim, window_text(a.window));
  }

  std::string operator()(const LatentAttentionCore& a) const {
    return fmt::format("mla {} {} kv {}: {} x {} new, {:.6g} keys, heads {}, latent {} + {}",
                       a.decode ? "absorbed" : "expanded", to_text(a.dtype), to_text(a.kv_dtype),
                       a.batch, a.new_tokens, a.context, a.heads, a.kv_lora_rank, a.qk_rope_dim);
  }

  std::string operator()(const MlaModule& m) const {
    return fmt::format("{}, hidden {}, {}", (*this)(m.core), m.hidden, properties(m.format).name);
  }
  std::string operator()(const MoeExperts& m) const {
    return fmt::format("moe {}: {} tokens, {} of {} experts, {} x {}, tp {}, ep {}{}{}",
                       properties(m.format).name, m.tokens, m.top_k, m.experts, m.hidden,
                       m.intermediate, m.tp, m.ep,
                       m.skew > 0 ? fmt::format(", power law {}", m.skew) : std::string(),
                       dispatch_text(m.dispatched));
  }

  std::string operator()(const LinearAttentionCore& a) const {
    return fmt::format("{} {} {}: {} x {} new, keys {} x {}, values {} x {}",
                       recurrence_name(a.kind), a.decode ? "decode" : "prefill", to_text(a.dtype),
                       a.batch, a.new_tokens, a.k_heads, a.k_dim, a.v_heads, a.v_dim);
  }

  std::string operator()(const Elementwise& e) const {
    return fmt::format("{}{} [{}, {}]", elementwise_name(e.kind), e.gradient ? " gradient" : "",
                       e.rows, e.width);
  }

  std::string operator()(const Embedding& e) const {
    return fmt::format("embedding {} {} rows of {}", to_text(e.dtype), e.tokens, e.hidden);
  }

  std::string operator()(const Collective& c) const {
    return fmt::format("{} of {} over {} ranks", to_text(c.kind), to_text(c.bytes), c.ranks);
  }

  std::string operator()(const AttentionBackward& a) const {
    return "backward of " + (*this)(a.forward);
  }

  std::string operator()(const SparseAttentionBlock& a) const {
    return fmt::format("{} block {} {} kv {}: {} x {} new + {} past, heads {}, width {}",
                       sparse_name(a.kind), a.decode ? "decode" : "prefill",
                       properties(a.format).name, to_text(a.kv_dtype), a.batch, a.new_tokens,
                       a.past, a.heads, a.hidden);
  }

  std::string operator()(const CausalConvolution& c) const {
    return fmt::format("causal_convolution of {} {} {}: {} x {} new, {} channels, window {}",
                       recurrence_name(c.mixer), c.decode ? "decode" : "prefill", to_text(c.dtype),
                       c.batch, c.new_tokens, c.channels, c.window);
  }

  std::string operator()(const OptimizerStep& o) const {
    return fmt::format("optimizer step of {} parameters, {:.4g} B each", o.parameters,
                       (o.read + o.written).value());
  }
};

}  // namespace

std::string describe(const Op& op) { return std::visit(Description{}, op); }

std::string_view to_text(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::kAllReduce:
      return "all_reduce";
    case Collective::Kind::kAllGather:
      return "all_gather";
    case Collective::Kind::kReduceScatter:
      return "reduce_scatter";
    case Collective::Kind::kAllToAll:
      return "all_to_all";
    case Collective::Kind::kBroadcast:
      return "broadcast";
    case Collective::Kind::kSend:
      return "send";
    case Collective::Kind::kReduce:
      return "reduce";
  }
  return "collective";
}

}  // namespace orrery
