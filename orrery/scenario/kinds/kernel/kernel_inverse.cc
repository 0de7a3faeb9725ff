#include "orrery/scenario/kinds/kernel/kernel_inverse.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>

#include "orrery/scenario/kinds/kernel/sparse_blocks.h"

namespace orrery {
namespace {

using Keys = std::map<std::string, std::string>;
using Found = std::optional<Keys>;

template <std::integral T>
std::string text(T n) {
  return std::to_string(n);
}
std::string text(double x) { return fmt::format("{}", x); }
std::string text(Format f) { return std::string(properties(f).name); }
std::string text(Dtype d) { return std::string(to_text(d)); }
std::string phase(bool decode) { return decode ? "decode" : "prefill"; }
bool whole(double x) { return x == std::floor(x) && x < 1e15; }
std::string whole_text(double x) { return text(static_cast<std::int64_t>(x)); }

Found keys_of(const Gemm& g) {
  const bool one = g.batch == 1;
  if ((one && !g.weight) || (g.gradient && !one)) return {};
  Keys keys = {{"op", g.gradient ? "gemm-gradient"
                      : one      ? "gemm"
                      : g.weight ? "head-gemm"
                                 : "batched-gemm"},
               {"m", text(g.m)},
               {"n", text(g.n)},
               {"k", text(g.k)},
               {"format", text(g.format)}};
  if (!one) keys["batch"] = text(g.batch);
  return keys;
}

Keys heads_of(int heads, int kv_heads, int head_dim, Dtype dtype) {
  return {{"heads", text(heads)},
          {"kv_heads", text(kv_heads)},
          {"head_dim", text(head_dim)},
          {"format", text(dtype)}};
}

Found keys_of(const PrefillAttention& a) {
  const bool cached = a.kv_dtype != a.dtype;
  if (a.value_dim != a.head_dim || (!a.causal && (a.past != 0 || a.window != 0 || cached)))
    return {};
  Keys keys = heads_of(a.heads, a.kv_heads, a.head_dim, a.dtype);
  keys["op"] = a.causal ? "prefill" : "encoder";
  keys["m"] = text(a.batch), keys["context"] = text(a.new_tokens);
  if (!a.causal) return keys;
  keys["past"] = text(a.past), keys["window"] = text(a.window);
  keys["kv_dtype"] = text(a.kv_dtype);
  return keys;
}

Found keys_of(const DecodeAttention& a) {
  if (a.value_dim != a.head_dim || a.queries != 1 || !whole(a.context)) return {};
  Keys keys = heads_of(a.heads, a.kv_heads, a.head_dim, a.dtype);
  keys["op"] = "decode";
  keys["m"] = text(a.batch), keys["context"] = whole_text(a.context);
  keys["window"] = text(a.window), keys["kv_dtype"] = text(a.kv_dtype);
  return keys;
}

Found keys_of(const LatentAttentionCore& a) {
  const LatentAttentionCore usual;
  const double past = a.context - static_cast<double>(a.new_tokens);
  if (a.kv_lora_rank != usual.kv_lora_rank || a.qk_nope_dim != usual.qk_nope_dim ||
      a.qk_rope_dim != usual.qk_rope_dim || a.value_dim != usual.value_dim || !whole(a.context) ||
      (a.decode && a.new_tokens != 1) || (!a.decode && past < 0))
    return {};
  Keys keys = {{"op", "mla"},
               {"phase", phase(a.decode)},
               {"m", text(a.batch)},
               {"context", a.decode ? whole_text(a.context) : text(a.new_tokens)},
               {"heads", text(a.heads)},
               {"format", text(a.dtype)},
               {"kv_dtype", text(a.kv_dtype)}};
  if (!a.decode) keys["past"] = whole_text(past);
  return keys;
}

Found keys_of(const MoeExperts& m) {
  Keys keys = {{"op", "moe"},
               {"m", text(m.tokens)},
               {"n", text(m.intermediate)},
               {"k", text(m.hidden)},
               {"experts", text(m.experts)},
               {"top_k", text(m.top_k)},
               {"tp", text(m.tp)},
               {"ep", text(m.ep)},
               {"skew", text(m.skew)},
               {"format", text(m.format)}};
  if (!m.gated) keys["gated"] = "false";
  if (m.dispatched == MoeExperts::Dispatched::kNo) return keys;
  keys["op"] = "moe-wide-ep";
  keys["phase"] = phase(m.dispatched == MoeExperts::Dispatched::kDecode);
  return keys;
}

// The name of the block that has the sizes of `b`; empty: none has.
std::string block_of(const SparseAttentionBlock& b) {
  for (const std::string& name : sparse_block_names()) {
    SparseAttentionBlock usual = sparse_block(name, b.heads);
    if (usual.kind != b.kind || usual.hidden != b.hidden) continue;
    usual.decode = b.decode, usual.batch = b.batch, usual.new_tokens = b.new_tokens;
    usual.past = b.past, usual.format = b.format, usual.kv_dtype = b.kv_dtype;
    if (describe(b) == describe(usual) && bytes(b).value() == bytes(usual).value() &&
        flops(b).value() == flops(usual).value())
      return name;
  }
  return "";
}

Found keys_of(const SparseAttentionBlock& b) {
  const std::string block = block_of(b);
  if (block.empty() || !whole(b.past) || (b.decode && b.new_tokens != 1)) return {};
  Keys keys = {{"op", "sparse-attention"},
               {"block", block},
               {"phase", phase(b.decode)},
               {"m", text(b.batch)},
               {"context", b.decode ? whole_text(b.past + 1) : text(b.new_tokens)},
               {"heads", text(b.heads)},
               {"format", text(b.format)},
               {"kv_dtype", text(b.kv_dtype)}};
  if (!b.decode) keys["past"] = whole_text(b.past);
  return keys;
}

Found keys_of(const MlaModule& m) {
  Found keys = keys_of(m.core);
  const MlaModule usual;
  if (!keys || m.hidden != usual.hidden || m.q_lora_rank != usual.q_lora_rank) return {};
  (*keys)["op"] = "mla-module";
  (*keys)["format"] = text(m.format);
  if (m.core.dtype != Dtype::kBf16) (*keys)["attn_dtype"] = text(m.core.dtype);
  return keys;
}

std::string mixer(LinearAttentionCore::Kind kind) {
  using Kind = LinearAttentionCore::Kind;
  return kind == Kind::kMamba2      ? "mamba2"
         : kind == Kind::kKimiDelta ? "kimi-delta"
                                    : "gated-delta-net";
}

Found keys_of(const LinearAttentionCore& a) {
  const LinearAttentionCore usual;
  if (a.k_dim != a.v_dim || a.conv != usual.conv || a.chunk != usual.chunk ||
      a.dtype != usual.dtype || (a.decode && a.new_tokens != 1))
    return {};
  Keys keys = {{"op", "linear-attention"}, {"phase", phase(a.decode)},
               {"mixer", mixer(a.kind)},   {"m", text(a.batch)},
               {"heads", text(a.v_heads)}, {"kv_heads", text(a.k_heads)},
               {"head_dim", text(a.k_dim)}};
  if (!a.decode) keys["context"] = text(a.new_tokens);
  return keys;
}

Found keys_of(const CausalConvolution& c) {
  const CausalConvolution usual;
  if (c.window != usual.window || c.dtype != usual.dtype || (c.decode && c.new_tokens != 1))
    return {};
  Keys keys = {{"op", "convolution"},
               {"phase", phase(c.decode)},
               {"mixer", mixer(c.mixer)},
               {"m", text(c.batch)},
               {"n", text(c.channels)}};
  if (!c.decode) keys["context"] = text(c.new_tokens);
  return keys;
}

Found keys_of(const Elementwise& e) {
  struct Known {
    Elementwise::Kind kind;
    const char* op;
    double read, written;  // bytes of an element
  };
  using Kind = Elementwise::Kind;
  static constexpr Known kKnown[] = {{Kind::kNorm, "norm", 2, 2},
                                     {Kind::kAddNorm, "add-norm", 4, 4},
                                     {Kind::kActivation, "activation", 4, 2},
                                     {Kind::kRotary, "rotary", 2, 2},
                                     {Kind::kSoftmax, "softmax", 2, 2},
                                     {Kind::kQuantise, "quantise", 2, 1},
                                     {Kind::kCopy, "copy", 2, 2}};
  const double elements = static_cast<double>(e.rows) * static_cast<double>(e.width);
  for (const Known& k : kKnown) {
    if (k.kind == e.kind && !e.gradient && e.read.value() == k.read * elements &&
        e.written.value() == k.written * elements)
      return Keys{{"op", k.op}, {"m", text(e.rows)}, {"n", text(e.width)}};
  }
  return {};
}

// Questions state no other sizes of these ops, or no measured table has them.
template <class T>
Found keys_of(const T&) {
  return {};
}

}  // namespace

std::optional<std::map<std::string, std::string>> kernel_keys_of(const Op& op) {
  return std::visit([](const auto& o) { return keys_of(o); }, op);
}

}  // namespace orrery
