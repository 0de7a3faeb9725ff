#include "orrery/workload/ops/op.h"

#include <algorithm>

namespace orrery {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// Results and intermediate activations of a product: 32 bits wide after a 32-bit product, else 16.
Bytes result_bytes(Format format) {
  return format == Format::kFp32 || format == Format::kTf32 ? Bytes(4) : Bytes(2);
}

// Queries and outputs of attention are 16 bits wide unless it computes in 32.
Bytes stream_bytes(Dtype dtype) { return dtype == Dtype::kFp32 ? Bytes(4) : Bytes(2); }

// Recurrent state is kept in fp32 (the default of SGLang and of the published models).
constexpr Bytes kStateElement{4};

double visible(double context, std::int64_t window) {
  return window > 0 ? std::min(context, real(window)) : context;
}

// Keys that the queries of one sequence read, window included.
double keys_read(const PrefillAttention& a) {
  const double past = a.window > 0 ? real(std::min(a.past, a.window - 1)) : real(a.past);
  return past + real(a.new_tokens);
}

double latent_pairs(const LatentAttentionCore& a) {
  // context is the mean and need not be whole: the causal sum is linear in it.
  const double n = real(a.new_tokens);
  return a.decode ? n * a.context : n * (a.context - n) + n * (n + 1) / 2;
}

// Token-expert pairs that the busiest rank computes.
double busiest_slots(const MoeExperts& m) {
  const double mean = real(m.tokens) * m.top_k / m.ep;
  if (m.skew == 0 || m.ep == 1) return mean;
  return mean * expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew);
}

// Input channels of the convolution over q, k and v (Mamba-2: C, B and x).
double channels(const LinearAttentionCore& a) {
  return 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
}

double projection_weights(const SparseAttentionBlock& a) {
  const double queries = 1.0 * a.heads * a.head_dim;
  const double q = a.q_rank > 0 ? a.q_rank * (a.hidden + queries) : a.hidden * queries;
  const double indexer = 1.0 * a.index_heads * a.index_dim * (a.q_rank > 0 ? a.q_rank : a.hidden);
  return q + 1.0 * a.hidden * a.entry + 1.0 * a.heads * a.value_dim * a.hidden + indexer;
}

// Cached entries in sight of the mean query of a sequence, and those that it reads.
double entries_in_sight(const SparseAttentionBlock& a) {
  return std::max(1.0, (real(a.past) + (real(a.new_tokens) + 1) / 2) / a.compress);
}
double entries_read(const SparseAttentionBlock& a) {
  return std::min(entries_in_sight(a), real(a.top_k));
}

struct FlopCount {
  double operator()(const Gemm& g) const {
    return 2 * real(g.batch) * real(g.m) * real(g.n) * real(g.k);
  }

  double operator()(const PrefillAttention& a) const {
    return 2 * real(a.batch) * a.heads * (a.head_dim + a.value_dim) *
           attended_pairs(a.new_tokens, a.past, a.window, a.causal);
  }

  double operator()(const DecodeAttention& a) const {
    return 2 * real(a.batch) * a.queries * a.heads * (a.head_dim + a.value_dim) *
           visible(a.context, a.window);
  }

  double operator()(const LatentAttentionCore& a) const {
    const int scores = a.qk_rope_dim + (a.decode ? a.kv_lora_rank : a.qk_nope_dim);
    const int values = a.decode ? a.kv_lora_rank : a.value_dim;
    return 2 * real(a.batch) * a.heads * (scores + values) * latent_pairs(a);
  }

  double operator()(const MlaModule& m) const {
    double sum = (*this)(m.core);
    const MlaProjections p = projections(m);
    for (std::size_t i = 0; i < p.count; ++i) sum += (*this)(p.products[i]);
    return sum;
  }

  double operator()(const MoeExperts& m) const {
    return 2 * busiest_slots(m) * (m.gated ? 3 : 2) * m.hidden * m.intermediate / m.tp;
  }

  double operator()(const LinearAttentionCore& a) const {
    const double tokens = real(a.batch) * real(a.new_tokens);
    const double state = 1.0 * a.v_heads * a.k_dim * a.v_dim;
    const int products = a.kind == LinearAttentionCore::Kind::kMamba2 ? 2 : 3;
    return 2 * tokens * (products * state + (a.conv > 1 ? a.conv * channels(a) : 0));
  }

  double operator()(const Elementwise&) const { return 0; }
  double operator()(const Embedding&) const { return 0; }
  double operator()(const Collective&) const { return 0; }
  double operator()(const AttentionBackward& a) const { return 2.5 * (*this)(a.forward); }
  double operator()(const OptimizerStep&) const { return 0; }
  double operator()(const CausalConvolution&) const { return 0; }
  double operator()(const SparseAttentionBlock& a) const {
    const double attention = 2.0 * a.heads * a.entry * entries_read(a);
    const double indexer = 1.0 * a.index_heads * a.index_dim * entries_in_sight(a);
    return 2 * real(a.batch) * real(a.new_tokens) * (projection_weights(a) + attention + indexer);
  }
};

struct ByteCount {
  Bytes operator()(const Gemm& g) const {
    const FormatProperties& f = properties(g.format);
    const double m = real(g.m), n = real(g.n), k = real(g.k);
    return real(g.batch) * (m * k * f.activation + k * n * (g.weight ? f.weight : f.activation) +
                            m * n * result_bytes(g.format));
  }

  Bytes operator()(const PrefillAttention& a) const {
    const double queries = real(a.new_tokens) * a.heads;
    return real(a.batch) *
           (queries * (a.head_dim + a.value_dim) * stream_bytes(a.dtype) +
            keys_read(a) * a.kv_heads * (a.head_dim + a.value_dim) * bytes_per_element(a.kv_dtype));
  }

  Bytes operator()(const DecodeAttention& a) const {
    const double width = a.head_dim + a.value_dim;
    return real(a.batch) *
           (a.queries * a.heads * width * stream_bytes(a.dtype) +
            visible(a.context, a.window) * a.kv_heads * width * bytes_per_element(a.kv_dtype));
  }

  Bytes operator()(const LatentAttentionCore& a) const {
    const double latent = a.kv_lora_rank + a.qk_rope_dim;
    const double queries = real(a.new_tokens) * a.heads;
    if (a.decode) {
      return real(a.batch) * (queries * (latent + a.kv_lora_rank) * stream_bytes(a.dtype) +
                              a.context * latent * bytes_per_element(a.kv_dtype));
    }
    const double qk = a.qk_nope_dim + a.qk_rope_dim;
    // Keys and values are expanded, 16 bits; the rotary part of the key is one for all heads.
    const double expanded = 1.0 * a.heads * (a.qk_nope_dim + a.value_dim) + a.qk_rope_dim;
    return real(a.batch) * (queries * (qk + a.value_dim) + a.context * expanded) *
           stream_bytes(a.dtype);
  }

  Bytes operator()(const MlaModule& m) const {
    Bytes sum = (*this)(m.core);
    const MlaProjections p = projections(m);
    for (std::size_t i = 0; i < p.count; ++i) sum = sum + (*this)(p.products[i]);
    return sum;
  }

  Bytes operator()(const MoeExperts& m) const {
    const double slots = busiest_slots(m);
    const double here = std::min(real(m.tokens), slots);  // tokens with an expert on this rank
    const double inner = 1.0 * m.intermediate / m.tp;
    const double active = expected_active_experts(m.tokens, m.experts, m.top_k, m.skew) / m.ep;
    const double weights = active * (m.gated ? 3 : 2) * m.hidden * inner;
    const Bytes element = result_bytes(m.format);
    return weights * properties(m.format).weight +
           (2 * here * m.hidden + 2 * slots * inner) * element;
  }

  Bytes operator()(const LinearAttentionCore& a) const {
    const double tokens = real(a.batch) * real(a.new_tokens);
    const double state = 1.0 * a.v_heads * a.k_dim * a.v_dim;
    const Bytes element = bytes_per_element(a.dtype);
    const double passes =
        a.decode ? 2 : 1;  // a prefill starts from nothing and writes the state once
    return passes * real(a.batch) * (state * kStateElement + (a.conv - 1) * channels(a) * element) +
           tokens * (channels(a) + 1.0 * a.v_heads * a.v_dim) * element;
  }

  Bytes operator()(const Elementwise& e) const { return e.read + e.written; }
  Bytes operator()(const Embedding& e) const {
    return 2 * real(e.tokens) * real(e.hidden) * bytes_per_element(e.dtype);
  }
  Bytes operator()(const Collective&) const { return {}; }
  Bytes operator()(const AttentionBackward& b) const {
    const PrefillAttention& a = b.forward;
    const double queries = real(a.new_tokens) * a.heads;
    const Bytes stream = stream_bytes(a.dtype);
    // Queries and their gradient; outputs and their gradient; the sum in 32 bits.
    const Bytes of_queries =
        queries * ((2 * a.head_dim + 2 * a.value_dim) * stream + 2.0 * a.head_dim * Bytes(4));
    // Keys and values, and their gradients.
    const Bytes of_keys = keys_read(a) * a.kv_heads * (a.head_dim + a.value_dim) *
                          (bytes_per_element(a.kv_dtype) + stream);
    return real(a.batch) * (of_queries + of_keys);
  }
  Bytes operator()(const SparseAttentionBlock& a) const {
    const double all = (real(a.past) + real(a.new_tokens)) / a.compress;
    const double read = std::min(all, real(a.new_tokens) * entries_read(a));
    const Bytes cache =
        read * a.entry * bytes_per_element(a.kv_dtype) +
        (a.index_heads > 0 ? all * a.index_dim : 0) * bytes_per_element(Dtype::kFp8);
    const double tokens = real(a.batch) * real(a.new_tokens);
    return projection_weights(a) * properties(a.format).weight + real(a.batch) * cache +
           2 * tokens * a.hidden * bytes_per_element(Dtype::kBf16);
  }
  Bytes operator()(const CausalConvolution& c) const {
    const double windows = c.decode ? 2 * real(c.batch) * (c.window - 1) : 0;
    return (2 * real(c.batch) * real(c.new_tokens) + windows) * real(c.channels) *
           bytes_per_element(c.dtype);
  }
  Bytes operator()(const OptimizerStep& o) const {
    return real(o.parameters) * (o.read + o.written);
  }
};

struct ArithmeticFormat {
  Dtype operator()(const Gemm& g) const { return properties(g.format).arithmetic; }
  Dtype operator()(const PrefillAttention& a) const { return a.dtype; }
  Dtype operator()(const DecodeAttention& a) const { return a.dtype; }
  Dtype operator()(const LatentAttentionCore& a) const { return a.dtype; }
  Dtype operator()(const MlaModule& m) const { return properties(m.format).arithmetic; }
  Dtype operator()(const MoeExperts& m) const { return properties(m.format).arithmetic; }
  Dtype operator()(const LinearAttentionCore& a) const { return a.dtype; }
  Dtype operator()(const Elementwise&) const { return Dtype::kFp32; }
  Dtype operator()(const Embedding&) const { return Dtype::kFp32; }
  Dtype operator()(const Collective&) const { return Dtype::kFp32; }
  Dtype operator()(const AttentionBackward& a) const { return a.forward.dtype; }
  Dtype operator()(const OptimizerStep&) const { return Dtype::kFp32; }
  Dtype operator()(const CausalConvolution&) const { return Dtype::kFp32; }
  Dtype operator()(const SparseAttentionBlock& a) const { return properties(a.format).arithmetic; }
};

struct KindName {
  std::string_view operator()(const Gemm&) const { return "gemm"; }
  std::string_view operator()(const PrefillAttention&) const { return "attention_prefill"; }
  std::string_view operator()(const DecodeAttention&) const { return "attention_decode"; }
  std::string_view operator()(const LatentAttentionCore&) const { return "mla"; }
  std::string_view operator()(const MlaModule&) const { return "mla_module"; }
  std::string_view operator()(const MoeExperts&) const { return "moe"; }
  std::string_view operator()(const LinearAttentionCore&) const { return "linear_attention"; }
  std::string_view operator()(const Elementwise&) const { return "elementwise"; }
  std::string_view operator()(const Embedding&) const { return "embedding"; }
  std::string_view operator()(const Collective&) const { return "collective"; }
  std::string_view operator()(const AttentionBackward&) const { return "attention_backward"; }
  std::string_view operator()(const OptimizerStep&) const { return "optimizer"; }
  std::string_view operator()(const CausalConvolution&) const { return "causal_convolution"; }
  std::string_view operator()(const SparseAttentionBlock&) const { return "sparse_attention"; }
};

}  // namespace

MlaProjections projections(const MlaModule& m) {
  const LatentAttentionCore& a = m.core;
  const std::int64_t rows = a.batch * a.new_tokens;
  MlaProjections p;
  const auto add = [&](std::int64_t n, std::int64_t k, std::int64_t batch, Format format) {
    Gemm& g = p.products[p.count++];
    g.m = rows, g.n = n, g.k = k, g.batch = batch, g.format = format;
  };
  add(m.q_lora_rank + a.kv_lora_rank + a.qk_rope_dim, m.hidden, 1, m.format);
  add(std::int64_t{a.heads} * (a.qk_nope_dim + a.qk_rope_dim), m.q_lora_rank, 1, m.format);
  if (a.decode) {
    add(a.kv_lora_rank, a.qk_nope_dim, a.heads, Format::kBf16);
    add(a.value_dim, a.kv_lora_rank, a.heads, Format::kBf16);
  } else {
    add(std::int64_t{a.heads} * (a.qk_nope_dim + a.value_dim), a.kv_lora_rank, 1, m.format);
  }
  add(m.hidden, std::int64_t{a.heads} * a.value_dim, 1, m.format);
  return p;
}

Flops flops(const Op& op) { return Flops(std::visit(FlopCount{}, op)); }
Flops flops(const Gemm& g) { return Flops(FlopCount{}(g)); }
Flops flops(const PrefillAttention& a) { return Flops(FlopCount{}(a)); }
Flops flops(const DecodeAttention& a) { return Flops(FlopCount{}(a)); }
Bytes bytes(const Op& op) { return std::visit(ByteCount{}, op); }
Bytes bytes(const Gemm& g) { return ByteCount{}(g); }
Bytes bytes(const PrefillAttention& a) { return ByteCount{}(a); }
Bytes bytes(const DecodeAttention& a) { return ByteCount{}(a); }
Dtype arithmetic(const Op& op) { return std::visit(ArithmeticFormat{}, op); }
std::string_view kind_name(const Op& op) { return std::visit(KindName{}, op); }

GemmGradients gradients(const Gemm& forward) {
  GemmGradients g{forward, forward};
  g.first.n = forward.k;
  g.first.k = forward.n;
  g.second.m = forward.k;
  g.second.k = forward.m;
  g.second.weight = false;
  g.first.gradient = g.second.gradient = true;
  return g;
}

Elementwise gradient(const Elementwise& forward) {
  Elementwise g = forward;
  g.gradient = true;
  switch (forward.kind) {
    case Elementwise::Kind::kAdd:
      g.read = g.written = Bytes(0);
      break;
    case Elementwise::Kind::kRotary:
    case Elementwise::Kind::kCopy:
      break;
    default:
      g.read = forward.read + forward.written;
      g.written = forward.read;
  }
  return g;
}

OptimizerStep adam_step(std::int64_t parameters, Dtype weight, Dtype gradient,
                        std::optional<Dtype> master, Dtype moments) {
  const Bytes stored = bytes_per_element(weight);
  const Bytes states = 2 * bytes_per_element(moments);
  const Bytes updated = master ? bytes_per_element(*master) : stored;
  return {parameters, bytes_per_element(gradient) + updated + states,
          updated + states + (master ? stored : Bytes(0))};
}

double attended_pairs(std::int64_t new_tokens, std::int64_t past, std::int64_t window,
                      bool causal) {
  const double n = real(new_tokens), p = real(past), w = real(window);
  if (!causal) return n * visible(n + p, window);
  // Query i sees past + i + 1 keys until that exceeds the window; the others see the whole window.
  const double growing = window > 0 ? std::clamp(w - p, 0.0, n) : n;
  return growing * p + growing * (growing + 1) / 2 + (n - growing) * w;
}

}  // namespace orrery
