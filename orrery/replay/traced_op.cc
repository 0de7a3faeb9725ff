#include "orrery/replay/traced_op.h"

#include <algorithm>

namespace orrery {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kLargest = 100'000'000;  // limit of a size: products must not overflow

bool sound(const Shape& s, std::size_t dims) {
  return s.size() == dims &&
         std::all_of(s.begin(), s.end(), [](auto n) { return n >= 1 && n <= kLargest; });
}

// The format called "c10::BFloat16" or "BFloat16"; fp32 for unknown names.
Dtype dtype_of(std::string_view type) {
  const auto has = [&](std::string_view part) { return type.find(part) != type.npos; };
  if (has("BFloat16")) return Dtype::kBf16;
  if (has("Float8")) return Dtype::kFp8;
  if (has("Half")) return Dtype::kFp16;
  return Dtype::kFp32;
}

Format format_of(std::string_view type) {
  return parse_format(to_text(dtype_of(type))).value_or(Format::kBf16);
}

std::optional<Op> gemm(const Shape& a, const Shape& b, bool transposed, bool weight,
                       std::string_view type) {
  Gemm g;
  g.format = format_of(type);
  g.weight = weight;
  const std::size_t dims = b.size();
  if (dims < 2 || dims > 3 || !sound(b, dims) || !sound(a, a.size()) || a.size() < 2) return {};
  g.k = a.back();
  g.n = transposed ? b[dims - 2] : b[dims - 1];
  if (g.k != (transposed ? b[dims - 1] : b[dims - 2])) return {};
  if (dims == 3) {
    if (a.size() != 3 || a[0] != b[0]) return {};
    g.batch = b[0], g.m = a[1];
    return g;
  }
  double rows = 1;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) rows *= static_cast<double>(a[i]);
  if (rows > static_cast<double>(kLargest)) return {};
  g.m = static_cast<std::int64_t>(rows);
  return g;
}

// Reads queries and keys as [batch, heads, tokens, size] or [batch, tokens, heads, size].
std::optional<PrefillAttention> attention(const Shape& q, const Shape& k, bool heads_first,
                                          std::string_view type) {
  if (!sound(q, 4) || !sound(k, 4) || q[0] != k[0] || q[3] != k[3]) return {};
  const std::size_t heads = heads_first ? 1 : 2, tokens = heads_first ? 2 : 1;
  if (q[heads] % k[heads] != 0 || k[tokens] < q[tokens] || q[3] > 1024) return {};
  PrefillAttention a;
  a.batch = q[0];
  a.new_tokens = q[tokens], a.past = k[tokens] - q[tokens];
  a.heads = static_cast<int>(q[heads]), a.kv_heads = static_cast<int>(k[heads]);
  a.head_dim = a.value_dim = static_cast<int>(q[3]);
  a.dtype = a.kv_dtype = dtype_of(type) == Dtype::kFp32 ? Dtype::kBf16 : dtype_of(type);
  return a;
}

Bytes element(std::string_view dtype) {
  struct Known {
    std::string_view name;
    double bytes;
  };
  constexpr Known kKnown[] = {{"BFloat16", 2}, {"Half", 2}, {"Float", 4},
                              {"Double", 8},   {"Byte", 1}, {"Char", 1},
                              {"Int", 4},      {"Long", 8}, {"Bool", 1}};
  for (const Known& k : kKnown) {
    if (dtype == k.name) return Bytes(k.bytes);
  }
  return Bytes(dtype.starts_with("Float8") ? 1 : 0);
}

}  // namespace

std::optional<Op> traced_op(std::string_view name, const KinetoDetail& d) {
  const auto& s = d.shapes;
  const auto is = [&](std::string_view what, std::size_t inputs) {
    return name == what && s.size() >= inputs;
  };
  if (is("aten::mm", 2) || is("aten::_scaled_mm", 2)) return gemm(s[0], s[1], false, true, d.type);
  if (is("aten::addmm", 3)) return gemm(s[1], s[2], false, true, d.type);
  if (is("aten::linear", 2)) return gemm(s[0], s[1], true, true, d.type);
  if (is("aten::bmm", 2)) return gemm(s[0], s[1], false, false, d.type);
  if (is("aten::baddbmm", 3)) return gemm(s[1], s[2], false, false, d.type);

  struct Fused {
    std::string_view name;
    bool heads_first, backward;
  };
  constexpr Fused kFused[] = {
      {"aten::_scaled_dot_product_flash_attention", true, false},
      {"aten::_scaled_dot_product_efficient_attention", true, false},
      {"aten::_scaled_dot_product_cudnn_attention", true, false},
      {"aten::_scaled_dot_product_flash_attention_backward", true, true},
      {"aten::_scaled_dot_product_efficient_attention_backward", true, true},
      {"aten::_scaled_dot_product_cudnn_attention_backward", true, true},
      {"aten::_flash_attention_forward", false, false},
      {"aten::_efficient_attention_forward", false, false},
      {"aten::_flash_attention_backward", false, true},
      {"aten::_efficient_attention_backward", false, true},
      {"flash_attn::_flash_attn_forward", false, false},
      {"flash_attn::_flash_attn_backward", false, true},
  };
  for (const Fused& f : kFused) {
    const std::size_t first = f.backward ? 1 : 0;  // the first input is the gradient of the result
    if (!is(f.name, first + 2)) continue;
    const auto a = attention(s[first], s[first + 1], f.heads_first, d.type);
    if (!a) return {};
    return f.backward ? Op(AttentionBackward{*a}) : Op(*a);
  }
  return {};
}

std::optional<Collective> traced_collective(std::string_view kernel, const KinetoDetail& d,
                                            std::int64_t world) {
  using Kind = Collective::Kind;
  Collective c;
  c.group = Collective::Group::kData;
  const auto has = [&](std::string_view torch, std::string_view nccl) {
    return d.collective.find(torch) != d.collective.npos ||
           (d.collective.empty() && kernel.find(nccl) != kernel.npos);
  };
  std::int64_t elements = std::max(d.in_elements, d.out_elements);
  if (has("allreduce", "AllReduce") || d.collective.find("all_reduce") != std::string::npos) {
    c.kind = Kind::kAllReduce;
  } else if (has("reduce_scatter", "ReduceScatter")) {
    c.kind = Kind::kReduceScatter;
  } else if (has("allgather", "AllGather") ||
             d.collective.find("all_gather") != std::string::npos) {
    c.kind = Kind::kAllGather;
  } else if (d.collective.find("all_to_all") != std::string::npos ||
             d.collective.find("alltoall") != std::string::npos) {
    c.kind = Kind::kAllToAll;
    elements = d.in_elements;
  } else if (has("broadcast", "Broadcast")) {
    c.kind = Kind::kBroadcast;
  } else if (d.collective == "send" || d.collective == "recv") {
    c.kind = Kind::kSend;
  } else {
    return {};
  }
  const std::int64_t ranks = d.ranks > 0 ? d.ranks : world;
  constexpr std::int64_t kMostRanks = 1 << 24;
  if (ranks < 1 || ranks > kMostRanks) return {};
  c.ranks = static_cast<int>(ranks);
  c.bytes = element(d.dtype) * static_cast<double>(std::max<std::int64_t>(elements, 0));
  return c;
}

}  // namespace orrery
