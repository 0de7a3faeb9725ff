#include "orrery/accelerator/problem/op_einsums.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

using DimSizes = std::vector<std::pair<std::string, std::int64_t>>;

constexpr int kBits = 16;

// A tensor whose ranks are single dimensions, each named by a letter of `ranks`.
EinsumTensor tensor(const std::string& name, const std::string& ranks, const Einsum& e,
                    const char* role) {
  EinsumTensor t;
  t.name = name;
  t.bits = kBits;
  t.output = std::string(role) == "output";
  t.role = t.output ? "" : role;
  for (const char rank : ranks) {
    const auto dim = std::find(e.dims.begin(), e.dims.end(), std::string(1, rank));
    t.ranks.push_back({{static_cast<int>(dim - e.dims.begin()), 1}});
  }
  return t;
}

struct Operand {
  std::string name, ranks;
};

CascadeStep step(const std::string& name, const DimSizes& sizes, const Operand& out,
                 const std::vector<Operand>& operands) {
  Einsum e;
  e.name = name;
  for (const auto& [dim, size] : sizes) {
    e.dims.push_back(dim);
    e.sizes.push_back(size);
  }
  e.tensors.push_back(tensor(out.name, out.ranks, e, "output"));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    e.tensors.push_back(
        tensor(operands[i].name, operands[i].ranks, e, i == 1 ? "weight" : "input"));
  }
  return {std::move(e), false};
}

struct AttentionSizes {
  std::int64_t batch, queries, keys;
  int heads, kv_heads, head_dim, value_dim;
};

std::vector<CascadeStep> attention(const AttentionSizes& a) {
  const std::int64_t groups = a.kv_heads;
  const std::int64_t shared = std::max(1, a.heads / a.kv_heads);
  const DimSizes common = {
      {"b", a.batch}, {"g", groups}, {"r", shared}, {"q", a.queries}, {"k", a.keys}};
  DimSizes scores = common, values = common;
  scores.emplace_back("e", a.head_dim);
  values.emplace_back("v", a.value_dim);
  std::vector<CascadeStep> steps = {
      step("QK", scores, {"S", "bgrqk"}, {{"Q", "bgrqe"}, {"K", "bgke"}})};
  if (a.value_dim > 0) {
    steps.push_back(step("AV", values, {"Z", "bgrqv"}, {{"S", "bgrqk"}, {"V", "bgkv"}}));
  }
  return steps;
}

struct Steps {
  std::vector<CascadeStep> operator()(const Gemm& g) const {
    if (g.batch == 1) {
      return {step("product", {{"m", g.m}, {"n", g.n}, {"k", g.k}}, {"Z", "mn"},
                   {{"A", "mk"}, {"W", "kn"}})};
    }
    return {step("product", {{"b", g.batch}, {"m", g.m}, {"n", g.n}, {"k", g.k}}, {"Z", "bmn"},
                 {{"A", "bmk"}, {"W", "bkn"}})};
  }
  std::vector<CascadeStep> operator()(const PrefillAttention& a) const {
    return attention({a.batch, a.new_tokens, a.past + a.new_tokens, a.heads, a.kv_heads, a.head_dim,
                      a.value_dim});
  }
  std::vector<CascadeStep> operator()(const DecodeAttention& a) const {
    return attention({a.batch, static_cast<std::int64_t>(std::ceil(a.queries)),
                      static_cast<std::int64_t>(std::ceil(a.context)), a.heads, a.kv_heads,
                      a.head_dim, a.value_dim});
  }
  std::vector<CascadeStep> operator()(const MoeExperts& m) const {
    const double active =
        expected_active_experts(m.tokens, m.experts, m.top_k, m.skew) / real(m.ep);
    const auto experts = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::round(active)));
    const double pairs = real(m.tokens) * m.top_k / m.ep *
                         expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew);
    const auto tokens = static_cast<std::int64_t>(std::ceil(pairs / real(experts)));
    const std::int64_t width = std::max(1, m.intermediate / m.tp), hidden = m.hidden;
    const DimSizes common = {
        {"x", experts}, {"t", std::max<std::int64_t>(1, tokens)}, {"h", hidden}};
    DimSizes up = common, down = common;
    up.emplace_back("f", m.gated ? 2 * width : width);
    down.emplace_back("f", width);
    return {step("up", up, {"U", "xtf"}, {{"T", "xth"}, {"W1", "xhf"}}),
            step("down", down, {"D", "xth"}, {{"A", "xtf"}, {"W2", "xfh"}})};
  }
  std::vector<CascadeStep> operator()(const Elementwise& e) const {
    return {step("elementwise", {{"t", e.rows}, {"f", e.width}}, {"Y", "tf"}, {{"X", "tf"}})};
  }
  template <class Other>
  std::vector<CascadeStep> operator()(const Other&) const {
    return {};
  }
};

}  // namespace

std::optional<Cascade> einsums_of(const Op& op, const std::string& name) {
  Cascade c;
  c.name = name;
  c.steps = std::visit(Steps{}, op);
  if (c.steps.empty()) return std::nullopt;
  return c;
}

}  // namespace orrery
