// Is every layer of the stack the layer that the model has there?
#include "orrery/model/architecture/architecture.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace architecture_test {

const SoftmaxAttention& attention(const Architecture& m, int layer) {
  return std::get<SoftmaxAttention>(m.layers.at(layer).mixer);
}

RC_GTEST_PROP(LayerStack, ReproducesTheSequenceAndCountsAnyCut, ()) {
  const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3));
  LayerStack stack;
  for (const int kind : kinds) {
    LayerSpec layer;
    layer.norms = kind;
    stack.append(layer);
  }
  const int size = static_cast<int>(kinds.size());
  RC_ASSERT(stack.size() == size);
  const int first = *rc::gen::inRange(0, size + 1);
  const int last = *rc::gen::inRange(first, size + 1);
  for (std::size_t spec = 0; spec < stack.specs().size(); ++spec) {
    int expected = 0;
    for (int i = first; i < last; ++i) expected += stack.at(i) == stack.specs()[spec];
    RC_ASSERT(stack.count(static_cast<int>(spec), first, last) == expected);
  }
  for (int i = 0; i < size; ++i) RC_ASSERT(stack.at(i).norms == kinds[static_cast<std::size_t>(i)]);
}

TEST(LayerStack, LayersThatAreAlikeShareOneSpecAndOneRun) {
  LayerSpec a;
  LayerSpec b;
  b.norms = 4;
  LayerStack stack;
  stack.append(a, 2);
  stack.append(a, 1);
  stack.append(b, 0);
  stack.append(b, 3);
  stack.append(a);
  EXPECT_EQ(stack.specs().size(), 2u);
  EXPECT_EQ(stack.runs(), (std::vector<LayerRun>{{0, 3}, {1, 3}, {0, 1}}));
}

TEST(Layers, Gemma3HasFiveWindowsThenAFullLayer) {
  const Architecture m = load_model("gemma-3-27b");
  ASSERT_EQ(m.layers.size(), 62);
  EXPECT_EQ(m.layers.specs().size(), 2u);
  for (int i = 0; i < 62; ++i) EXPECT_EQ(attention(m, i).window, i % 6 == 5 ? 0 : 1024) << i;
  EXPECT_EQ(attention(m, 0).qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(m.layers.at(0).norms, 4);
}

TEST(Layers, Gemma2AlternatesAndBeginsWithAWindow) {
  const Architecture m = load_model("gemma-2-9b");
  EXPECT_EQ(attention(m, 0).window, 4096);
  EXPECT_EQ(attention(m, 1).window, 0);
  EXPECT_EQ(attention(m, 41).window, 0);
}

TEST(Layers, Gemma3TakesTheDefaultsOfItsClassWhereTheReleasedConfigIsSilent) {
  // As google/gemma-3-4b-it leaves them out.
  const Architecture m = read_text(R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
                    "sliding_window": 1024}})");
  const Architecture bundled = load_model("gemma-3-4b");
  EXPECT_EQ(m.layers.specs(), bundled.layers.specs());
  EXPECT_EQ(m.layers.runs(), bundled.layers.runs());
  EXPECT_EQ(m.vocab, bundled.vocab);
  EXPECT_EQ(m.max_context, bundled.max_context);
}

TEST(Layers, GptOssAlternatesWindowOf128AndHasSinks) {
  const Architecture m = load_model("gpt-oss-20b");
  EXPECT_EQ(attention(m, 0).window, 128);
  EXPECT_EQ(attention(m, 1).window, 0);
  EXPECT_TRUE(attention(m, 1).sinks);
  EXPECT_EQ(m.layers.count(0), 12);
  EXPECT_EQ(m.quantization.format, WeightFormat::kMxfp4);
}

TEST(Layers, DeciLmHasItsOwnKvHeadsInEachLayer) {
  const Architecture m = load_model("decilm-7b");
  int kv_heads = 0;
  for (int i = 0; i < m.layers.size(); ++i) kv_heads += attention(m, i).kv_heads;
  EXPECT_EQ(kv_heads, 67);
  EXPECT_EQ(m.layers.size(), 32);
  EXPECT_EQ(m.layers.specs().size(), 3u);
}

TEST(Layers, DeepSeekV3BeginsWithThreeDenseLayers) {
  const Architecture m = load_model("deepseek-v3");
  EXPECT_EQ(m.layers.runs(), (std::vector<LayerRun>{{0, 3}, {1, 58}}));
  EXPECT_EQ(std::get<DenseMlp>(m.layers.at(2).mlp).intermediate, 18432);
  const MoeMlp& moe = std::get<MoeMlp>(m.layers.at(3).mlp);
  EXPECT_EQ(moe.experts, 256);
  EXPECT_EQ(moe.top_k, 8);
  EXPECT_EQ(moe.groups, 8);
  EXPECT_EQ(moe.top_groups, 4);
  EXPECT_EQ(m.quantization.format, WeightFormat::kFp8);
  EXPECT_EQ(m.quantization.block_rows, 128);
}

TEST(Layers, Llama4AttendsWithinChunksExceptInEveryFourthLayer) {
  const Architecture m = load_model("llama-4-maverick");
  EXPECT_EQ(attention(m, 2).window, 8192);
  EXPECT_EQ(attention(m, 2).window_kind, WindowKind::kChunked);
  EXPECT_EQ(attention(m, 3).window, 0);
  EXPECT_FALSE(attention(m, 3).rope);
  EXPECT_EQ(std::get<DenseMlp>(m.layers.at(0).mlp).intermediate, 16384);
  EXPECT_EQ(std::get<MoeMlp>(m.layers.at(1).mlp).experts, 128);
  EXPECT_TRUE(std::holds_alternative<MoeMlp>(load_model("llama-4-scout").layers.at(0).mlp));
}

TEST(Layers, QwenNextHasFullAttentionInEveryFourthLayer) {
  for (const char* id : {"qwen3-next-80b-a3b", "qwen3.5-397b-a17b"}) {
    const Architecture m = load_model(id);
    for (int i = 0; i < m.layers.size(); ++i) {
      EXPECT_EQ(std::holds_alternative<SoftmaxAttention>(m.layers.at(i).mixer), i % 4 == 3) << i;
    }
    EXPECT_TRUE(attention(m, 3).output_gate);
  }
}

TEST(Layers, NemotronHHasOneMixerALayer) {
  const Architecture m = load_model("nemotron-nano-9b");
  ASSERT_EQ(m.layers.size(), 56);
  int mamba = 0;
  int softmax = 0;
  int mlp = 0;
  for (int i = 0; i < 56; ++i) {
    const LayerSpec& layer = m.layers.at(i);
    mamba += std::holds_alternative<Mamba2>(layer.mixer);
    softmax += std::holds_alternative<SoftmaxAttention>(layer.mixer);
    mlp += std::holds_alternative<DenseMlp>(layer.mlp);
    EXPECT_EQ(layer.norms, 1);
  }
  EXPECT_EQ(mamba, 27);
  EXPECT_EQ(softmax, 4);
  EXPECT_EQ(mlp, 25);
}

TEST(Layers, Glm52SharesOneIndexerAmongFourLayers) {
  const Architecture m = load_model("glm-5.2");
  int indexers = 0;
  for (int i = 0; i < 78; ++i) {
    const auto& a = std::get<LatentAttention>(m.layers.at(i).mixer);
    EXPECT_EQ(a.sparse_top_k, 2048);
    indexers += a.indexer.has_value();
  }
  EXPECT_EQ(indexers, 21);  // layers 0, 1, 2, then 6, 10, ..., 74
}

TEST(Layers, FalconOldAndNewDecoder) {
  const Architecture old = load_model("falcon-7b");
  EXPECT_EQ(attention(old, 0).kv_heads, 1);
  EXPECT_EQ(old.layers.at(0).norms, 1);
  EXPECT_TRUE(old.layers.at(0).parallel);
  const Architecture now = load_model("falcon-40b");
  EXPECT_EQ(attention(now, 0).kv_heads, 8);
  EXPECT_EQ(now.layers.at(0).norms, 2);
  EXPECT_TRUE(now.layers.at(0).parallel);
}

TEST(Layers, AnotherNumberOfKvHeads) {
  const Architecture mha = with_kv_heads(load_model("llama-2-70b"), 64);
  EXPECT_EQ(kept_state(mha.layers.at(79).mixer).cached().total(), 16'384);
  EXPECT_EQ(attention(with_kv_heads(load_model("falcon-40b"), 1), 0).kv_heads, 1);
  EXPECT_EQ(with_kv_heads(load_model("decilm-7b"), 4).layers.specs().size(), 1u);
  const auto error = [](const char* id, int kv_heads) {
    return error_of([&] { with_kv_heads(load_model(id), kv_heads); });
  };
  EXPECT_NE(error("llama-2-70b", 3).find("3 KV heads do not divide the 64"), std::string::npos);
  EXPECT_NE(error("llama-2-70b", 0).find("0 KV heads"), std::string::npos);
  EXPECT_NE(error("deepseek-v3", 8).find("latent"), std::string::npos);
}

TEST(Layers, EncoderDecoderHasCrossAttentionInTheDecoderOnly) {
  const Architecture m = load_model("t5-3b");
  EXPECT_EQ(m.kind, Kind::kEncoderDecoder);
  EXPECT_EQ(m.encoder.size(), 24);
  EXPECT_FALSE(m.encoder.at(0).cross_attention.has_value());
  ASSERT_TRUE(m.layers.at(0).cross_attention.has_value());
  EXPECT_EQ(m.layers.at(0).cross_attention->head_dim, 128);
  EXPECT_EQ(m.layers.at(0).norms, 3);
}

}  // namespace architecture_test
}  // namespace orrery
