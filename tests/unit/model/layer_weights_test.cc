// Widths, roles and shares of ranks, by hand.
#include "orrery/model/layers/layer_weights.h"

#include <gtest/gtest.h>

#include "orrery/model/layers/mixers.h"
#include "orrery/model/layers/mlps.h"

namespace orrery {
namespace layer_weights_test {

TEST(Width, RanksDivideCopyOrHoldElements) {
  const Width w = divided(64) + grouped(2, 10) + whole(3);
  EXPECT_EQ(w.total(), 87);
  EXPECT_EQ(w.on_rank(1), 87);
  EXPECT_EQ(w.on_rank(2), 32 + 10 + 3);
  EXPECT_EQ(w.on_rank(8), 8 + 10 + 3);  // four ranks share a group
  EXPECT_EQ(w.on_rank(8, true), 8 + 20.0 / 8 + 3);
  EXPECT_EQ(3 * w, divided(192) + grouped(2, 30) + whole(9));
}

TEST(WeightRole, ShortNamesAreTold) {
  constexpr WeightRole role = "kv_a";
  EXPECT_EQ(role, WeightRole("kv_a"));
  EXPECT_NE(role, WeightRole("kv_b"));
  EXPECT_TRUE(role.is("kv_a"));
  EXPECT_FALSE(role.is("kv"));
  EXPECT_FALSE(role.is("a name that is too long"));
  EXPECT_TRUE(WeightRole().empty());
}

TEST(RankShare, ExpertsAreSharedAndDivided) {
  const LayerMatrix up =
      LayerMatrix{"up", divided(64), whole(16)}.of(WeightPart::kRoutedExperts).biased().times(8);
  const RankShare share{.tp = 4, .expert_tp = 2, .ep = 4, .redundant = 4};
  EXPECT_EQ(share.copies(up), 3);
  EXPECT_EQ(share.matrix(up), 3 * 32 * 16);
  EXPECT_EQ(share.biases(up), 3 * 32);
  const LayerMatrix down{"down", whole(16), divided(64)};
  EXPECT_EQ(share.matrix(down), 16 * 16);
  EXPECT_EQ(share.biases(down.biased()), 16);  // of a row-parallel product: whole
}

// Roles are distinct within a part, so that a product of a step finds its matrix.
struct Roles {
  std::vector<std::pair<WeightPart, WeightRole>> seen;
  void matrix(const LayerMatrix& m) {
    const std::pair key(m.part, m.role);
    EXPECT_EQ(std::find(seen.begin(), seen.end(), key), seen.end());
    seen.push_back(key);
    const bool both = m.outputs.total() > m.outputs.whole && m.inputs.total() > m.inputs.whole;
    EXPECT_FALSE(both) << "ranks divide outputs and inputs";
  }
  void vector(const LayerVector&) {}
};

TEST(Declarations, RolesAreDistinctAndOneSideIsDivided) {
  SoftmaxAttention softmax;
  softmax.heads = 8, softmax.kv_heads = 2, softmax.head_dim = softmax.value_dim = 4;
  softmax.output_gate = softmax.head_gate = softmax.sinks = true;
  softmax.blocks = BlockSelection{2, 2, 2, 4};
  LatentAttention latent;
  latent.heads = 4, latent.q_lora_rank = latent.kv_lora_rank = 8;
  latent.qk_nope_dim = latent.value_dim = 4, latent.qk_rope_dim = 2;
  latent.output_gate = true;
  latent.indexer = SparseIndexer{2, 4};
  CompressedAttention compressed;
  compressed.heads = 4, compressed.head_dim = 8, compressed.rope_dim = 2;
  compressed.q_lora_rank = 8, compressed.o_groups = 2, compressed.o_lora_rank = 4;
  compressed.window = 4, compressed.compress = 2;
  compressed.indexer = SparseIndexer{2, 4};
  const KimiDelta kimi{.heads = 2, .head_dim = 4, .conv = 4};
  const GatedDeltaNet delta{.k_heads = 2, .k_dim = 4, .v_heads = 4, .v_dim = 4, .conv = 4};
  const Mamba2 mamba{.heads = 4, .head_dim = 4, .state = 8, .groups = 2, .conv = 4};
  for (const Mixer& mixer : {Mixer(softmax), Mixer(latent), Mixer(compressed), Mixer(kimi),
                             Mixer(delta), Mixer(mamba)}) {
    Roles roles;
    declare(mixer, 16, roles);
    EXPECT_GE(roles.seen.size(), 2u);
  }
  MoeMlp moe{.experts = 4, .top_k = 2, .intermediate = 8};
  moe.shared_intermediate = 8, moe.shared_gate = true, moe.latent = 4;
  Roles roles;
  declare(Mlp(moe), 16, roles);
  EXPECT_EQ(roles.seen.size(), 10u);
}

}  // namespace layer_weights_test
}  // namespace orrery
