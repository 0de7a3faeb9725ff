// Einsums of a model's ops: as many multiply-adds as the ops have.
#include "orrery/accelerator/problem/op_einsums.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/inference/program.h"

namespace orrery {
namespace op_einsums_test {

double points(const Cascade& c) {
  double n = 0;
  for (const CascadeStep& s : c.steps) n += s.einsum.points();
  return n;
}

double words(const CascadeStep& s, const std::string& name) {
  for (const EinsumTensor& t : s.einsum.tensors) {
    if (t.name == name) return tile_words(t, s.einsum.sizes);
  }
  return 0;
}

TEST(OpEinsums, ProductsOfAStepHaveItsMultiplyAdds) {
  const Architecture model = load_model("llama-3-8b");
  const Program p = forward_program(model, {}, native_precision(model), {{{2, 512, 0}}});
  int products = 0;
  for (const ProgramOp& op : p.ops) {
    if (!std::holds_alternative<Gemm>(op.op)) continue;
    const auto c = einsums_of(op.op, std::string(op.name));
    ASSERT_TRUE(c.has_value());
    EXPECT_EQ(2 * points(*c), flops(op.op).value()) << op.name;
    EXPECT_EQ(c->steps[0].einsum.tensors[2].role, "weight");
    ++products;
  }
  EXPECT_GE(products, 5);
}

TEST(OpEinsums, AttentionSharesKeysAmongTheHeadsOfAGroup) {
  DecodeAttention a;
  a.batch = 4, a.context = 99.5, a.heads = 32, a.kv_heads = 8, a.head_dim = a.value_dim = 128;
  const auto c = einsums_of(a, "attn_decode");
  ASSERT_EQ(c->steps.size(), 2u);
  EXPECT_EQ(points(*c), 2 * 4.0 * 32 * 100 * 128);
  EXPECT_EQ(words(c->steps[0], "K"), 4 * 8 * 100 * 128);
  EXPECT_EQ(words(c->steps[0], "Q"), 4 * 32 * 128);
  EXPECT_EQ(words(c->steps[1], "S"), 4 * 32 * 100);
}

TEST(OpEinsums, ExpertsInUse) {
  MoeExperts m;
  m.tokens = 4096, m.hidden = 64, m.intermediate = 32, m.experts = 8, m.top_k = 2;
  const auto c = einsums_of(m, "moe_experts");
  // All 8 experts are in use, with 1,024 tokens each.
  EXPECT_EQ(points(*c), 8 * 1024.0 * 64 * (64 + 32));
}

TEST(OpEinsums, OtherOpsAreNone) {
  EXPECT_FALSE(einsums_of(Embedding{}, "embedding").has_value());
  EXPECT_FALSE(einsums_of(Collective{}, "tp_all_reduce").has_value());
  Elementwise norm;
  norm.rows = 3, norm.width = 5;
  EXPECT_EQ(points(*einsums_of(norm, "norm")), 15);
}

}  // namespace op_einsums_test
}  // namespace orrery
