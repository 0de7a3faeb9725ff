#include "orrery/scenario/kinds/kernel/kernel_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/kernel/sparse_blocks.h"

namespace orrery {
namespace {

using Question = const KernelQuestion&;
using Size = std::int64_t;

Format format_of(Question q) { return parse_format(q.format).value_or(Format::kBf16); }

// The formats of the operands of attention, which have no scales.
Dtype dtype_of(Question q) {
  const auto plain = parse_dtype(q.format);
  if (!plain) {
    throw InputError(
        fmt::format("kernel.format: attention has no '{}'; expected a format of single numbers: "
                    "bf16, fp16, fp8, ...",
                    q.format));
  }
  return *plain;
}
Dtype cache_of(Question q, Dtype operands) {
  return q.kv_dtype.empty() ? operands : parse_dtype(q.kv_dtype).value_or(operands);
}
bool decodes(Question q) { return q.phase == "decode"; }

void check_divides(std::string_view key, Size by, Size what, std::string_view name) {
  if (what % by != 0)
    throw InputError(fmt::format("kernel.{}: {} does not divide {} {}", key, by, what, name));
}

Op gemm(Question q, Size m, Size) {
  return Gemm{.m = m, .n = q.n, .k = q.k, .format = format_of(q)};
}
Op batched_gemm(Question q, Size m, Size) {
  return Gemm{
      .m = m, .n = q.n, .k = q.k, .batch = q.batch, .format = format_of(q), .weight = false};
}
Op head_gemm(Question q, Size m, Size) {
  return Gemm{.m = m, .n = q.n, .k = q.k, .batch = q.batch, .format = format_of(q)};
}
Op gemm_gradient(Question q, Size m, Size) {
  return Gemm{.m = m, .n = q.n, .k = q.k, .format = format_of(q), .gradient = true};
}

PrefillAttention attention(Question q, Size m, Size tokens, bool causal) {
  check_divides("kv_heads", q.kv_heads, q.heads, "heads");
  const Dtype dtype = dtype_of(q);
  return {.batch = m,
          .new_tokens = tokens,
          .past = causal ? q.past : 0,
          .heads = q.heads,
          .kv_heads = q.kv_heads,
          .head_dim = q.head_dim,
          .value_dim = q.head_dim,
          .window = q.window,
          .causal = causal,
          .dtype = dtype,
          .kv_dtype = cache_of(q, dtype)};
}
Op prefill(Question q, Size m, Size context) { return attention(q, m, context, true); }
Op encoder(Question q, Size m, Size context) { return attention(q, m, context, false); }
Op prefill_backward(Question q, Size m, Size context) {
  return AttentionBackward{attention(q, m, context, true)};
}
Op decode(Question q, Size m, Size context) {
  check_divides("kv_heads", q.kv_heads, q.heads, "heads");
  const Dtype dtype = dtype_of(q);
  return DecodeAttention{.batch = m,
                         .context = static_cast<double>(context),
                         .heads = q.heads,
                         .kv_heads = q.kv_heads,
                         .head_dim = q.head_dim,
                         .value_dim = q.head_dim,
                         .window = q.window,
                         .dtype = dtype,
                         .kv_dtype = cache_of(q, dtype)};
}

// The sizes are those of DeepSeek-V3, the defaults of the struct.
LatentAttentionCore latent_core(Question q, Size m, Size context, Dtype dtype) {
  LatentAttentionCore a;
  a.decode = decodes(q);
  a.batch = m;
  a.new_tokens = a.decode ? 1 : context;
  a.context = static_cast<double>(a.decode ? context : context + q.past);
  a.heads = q.heads;
  a.dtype = dtype;
  a.kv_dtype = cache_of(q, dtype);
  return a;
}
Op mla(Question q, Size m, Size context) { return latent_core(q, m, context, dtype_of(q)); }
Op mla_module(Question q, Size m, Size context) {
  MlaModule module;
  module.core = latent_core(q, m, context, parse_dtype(q.attn_dtype).value_or(Dtype::kBf16));
  module.format = format_of(q);
  return module;
}
Op sparse_attention(Question q, Size m, Size context) {
  SparseAttentionBlock b = sparse_block(q.block, q.heads);
  b.decode = decodes(q);
  b.batch = m;
  b.new_tokens = b.decode ? 1 : context;
  b.past = static_cast<double>(b.decode ? context - 1 : q.past);
  b.format = format_of(q);
  b.kv_dtype = cache_of(q, Dtype::kBf16);
  return b;
}

MoeExperts experts(Question q, Size tokens) {
  if (q.top_k > q.experts)
    throw InputError(fmt::format("kernel.top_k: {} is more than {} experts", q.top_k, q.experts));
  check_divides("tp", q.tp, q.n, "columns (n, the intermediate size)");
  check_divides("ep", q.ep, q.experts, "experts");
  MoeExperts moe;
  moe.tokens = tokens;
  moe.hidden = static_cast<int>(q.k), moe.intermediate = static_cast<int>(q.n);
  moe.experts = q.experts, moe.top_k = q.top_k;
  moe.tp = q.tp, moe.ep = q.ep, moe.skew = q.skew;
  moe.gated = q.gated;
  moe.format = format_of(q);
  return moe;
}
Op moe(Question q, Size m, Size) { return experts(q, m); }
Op moe_wide_ep(Question q, Size m, Size) {
  MoeExperts moe = experts(q, m);
  moe.dispatched = decodes(q) ? MoeExperts::Dispatched::kDecode : MoeExperts::Dispatched::kPrefill;
  return moe;
}

LinearAttentionCore::Kind mixer_of(Question q) {
  using Kind = LinearAttentionCore::Kind;
  return q.mixer == "mamba2"       ? Kind::kMamba2
         : q.mixer == "kimi-delta" ? Kind::kKimiDelta
                                   : Kind::kGatedDeltaNet;
}
Op linear_attention(Question q, Size m, Size context) {
  check_divides("kv_heads", q.kv_heads, q.heads, "heads");
  LinearAttentionCore a;
  a.kind = mixer_of(q);
  a.decode = decodes(q);
  a.batch = m;
  a.new_tokens = a.decode ? 1 : context;
  a.k_heads = q.kv_heads, a.v_heads = q.heads;
  a.k_dim = a.v_dim = q.head_dim;
  return a;
}
Op convolution(Question q, Size m, Size context) {
  CausalConvolution c;
  c.decode = decodes(q);
  c.batch = m;
  c.new_tokens = c.decode ? 1 : context;
  c.channels = q.n;
  c.mixer = mixer_of(q);
  return c;
}

// Elementwise work that reads `reads` and writes `writes` 16-bit values for each of m x n elements.
template <Elementwise::Kind kKind, int kHalvesRead, int kHalvesWritten>
Op rows(Question q, Size m, Size) {
  const Bytes one(static_cast<double>(m) * static_cast<double>(q.n));
  return Elementwise{.kind = kKind,
                     .rows = m,
                     .width = q.n,
                     .read = kHalvesRead * one,
                     .written = kHalvesWritten * one};
}
Op embedding(Question q, Size m, Size) { return Embedding{m, q.n, Dtype::kBf16}; }
Op adam(Question, Size m, Size) {
  return adam_step(m, Dtype::kBf16, Dtype::kBf16, Dtype::kFp32, Dtype::kFp32);
}

}  // namespace

const std::vector<KernelOp>& kernel_ops() {
  using Kind = Elementwise::Kind;
  static const std::vector<KernelOp> ops = {
      {"gemm", "product of m rows with an n x k weight", {"n", "k", "format"}, gemm},
      {"batched-gemm",
       "several products of activations at once",
       {"n", "k", "batch", "format"},
       batched_gemm},
      {"head-gemm",
       "a product for each of `batch` heads, with weights of its own (absorbed latent attention)",
       {"n", "k", "batch", "format"},
       head_gemm},
      {"gemm-gradient", "a product of a backward pass", {"n", "k", "format"}, gemm_gradient},
      {"prefill",
       "causal attention of new tokens",
       {"context", "past", "heads", "kv_heads", "head_dim", "window", "format", "kv_dtype"},
       prefill},
      {"prefill-backward",
       "its backward pass",
       {"context", "heads", "kv_heads", "head_dim", "window", "format"},
       prefill_backward},
      {"decode",
       "attention of one token a sequence over the KV cache",
       {"context", "heads", "kv_heads", "head_dim", "window", "format", "kv_dtype"},
       decode},
      {"encoder",
       "attention in which all see all",
       {"context", "heads", "kv_heads", "head_dim", "format"},
       encoder},
      {"mla",
       "core of latent attention (DeepSeek-V3)",
       {"phase", "context", "past@prefill", "heads", "format", "kv_dtype"},
       mla},
      {"mla-module",
       "the whole block around it, projections too",
       {"phase", "context", "past@prefill", "heads", "format", "kv_dtype", "attn_dtype"},
       mla_module},
      {"sparse-attention",
       "the block of a model with sparse attention",
       {"phase", "block", "context", "past@prefill", "heads", "format", "kv_dtype"},
       sparse_attention},
      {"moe",
       "routed experts of m tokens, inner width n, model width k",
       {"n", "k", "experts", "top_k", "tp", "ep", "skew", "gated", "format"},
       moe},
      {"moe-wide-ep",
       "the same after an all-to-all",
       {"phase", "n", "k", "experts", "top_k", "tp", "ep", "skew", "gated", "format"},
       moe_wide_ep},
      {"linear-attention",
       "a recurrent mixer",
       {"phase", "mixer", "context@prefill", "heads", "kv_heads", "head_dim"},
       linear_attention},
      {"convolution",
       "the causal one before it, n channels",
       {"phase", "mixer", "context@prefill", "n"},
       convolution},
      {"norm", "of m rows of n", {"n"}, rows<Kind::kNorm, 2, 2>},
      {"add-norm", "with the residual added", {"n"}, rows<Kind::kAddNorm, 4, 4>},
      {"activation", "gated: reads 2 n, writes n", {"n"}, rows<Kind::kActivation, 4, 2>},
      {"rotary", "embedding of positions", {"n"}, rows<Kind::kRotary, 2, 2>},
      {"softmax", "of m rows of n", {"n"}, rows<Kind::kSoftmax, 2, 2>},
      {"quantise", "16 to 8 bits", {"n"}, rows<Kind::kQuantise, 2, 1>},
      {"copy", "of m rows of n", {"n"}, rows<Kind::kCopy, 2, 2>},
      {"embedding", "m rows of n from a table", {"n"}, embedding},
      {"adam", "step of m parameters, bf16 with fp32 states", {}, adam},
  };
  return ops;
}

namespace {

const KernelOp& op_of(Question q) {
  const auto& ops = kernel_ops();
  const auto it =
      std::find_if(ops.begin(), ops.end(), [&](const KernelOp& o) { return o.name == q.op; });
  if (it == ops.end()) throw InputError(fmt::format("kernel.op: unknown '{}'", q.op));
  return *it;
}

// The name of the key without its phase.
std::string_view bare(std::string_view key) { return key.substr(0, key.find('@')); }

}  // namespace

bool reads(Question q, std::string_view key) {
  return std::any_of(op_of(q).keys.begin(), op_of(q).keys.end(), [&](std::string_view k) {
    return bare(k) == key && (k.size() == key.size() || k.substr(key.size() + 1) == q.phase);
  });
}

std::string needs_of(std::string_view key) {
  std::string with, without;
  std::size_t those = 0;
  for (const KernelOp& o : kernel_ops()) {
    const auto k = std::find_if(o.keys.begin(), o.keys.end(),
                                [&](std::string_view its) { return bare(its) == key; });
    std::string& list = k != o.keys.end() ? with : without;
    if (!list.empty()) list += ", ";
    list += o.name;
    if (k == o.keys.end()) continue;
    ++those;
    if (k->size() > key.size()) list += fmt::format(" (phase {})", k->substr(key.size() + 1));
  }
  return 2 * those > kernel_ops().size() ? "another op than " + without : "op " + with;
}

Op make_op(Question q, Size m, Size context) { return op_of(q).make(q, m, context); }

}  // namespace orrery
