// Ops of the parts of hybrid models: Kimi delta attention, gates, shared caches, experts of a
// latent, attention residuals, per-layer inputs.
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/workload/plan/training_job.h"
#include "orrery/workload/training/training_parameters.h"
#include "orrery/workload/training/training_program.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace hybrid_ops_test {

using namespace reading;

Architecture one_layer(const LayerSpec& layer, int layers = 1) {
  Architecture model;
  model.id = "test";
  model.hidden = 1024;
  model.vocab = 1000;
  model.layers.append(layer, layers);
  return model;
}

Architecture of_mixer(const Mixer& mixer) {
  LayerSpec layer;
  layer.mixer = mixer;
  layer.norms = 1;
  return one_layer(layer);
}

Architecture of_mlp(const Mlp& mlp) {
  LayerSpec layer;
  layer.mlp = mlp;
  layer.norms = 1;
  return one_layer(layer);
}

KimiDelta kda(bool full_rank_gate) {
  return {.heads = 16, .head_dim = 64, .conv = 4, .full_rank_gate = full_rank_gate};
}

// 16 heads of 64 on 4 ranks: 256 channels of queries, keys, values and gate, 4 betas, and the 64
// inputs of the decay, which every rank has.
TEST(KimiDeltaOps, OneProductMakesAllInputs) {
  const Program p = forward_program(of_mixer(kda(true)), {4, 1, 1, 1}, {}, decode(5, 1000));
  EXPECT_EQ(first<Gemm>(p, "in_proj").n, 4 * 256 + 64 + 4);
  EXPECT_EQ(first<Gemm>(p, "decay_proj").n, 256);
  EXPECT_EQ(first<Gemm>(p, "decay_proj").k, 64);
  EXPECT_EQ(count(p, "gate_proj"), 0);
  const auto core = first<LinearAttentionCore>(p, "mixer_decode");
  EXPECT_EQ(core.kind, LinearAttentionCore::Kind::kKimiDelta);
  EXPECT_EQ(core.batch, 5);
  EXPECT_EQ(core.k_heads, 4);
  EXPECT_EQ(core.v_heads, 4);
  EXPECT_EQ(core.v_dim, 64);
  const auto conv = first<CausalConvolution>(p, "conv_decode");
  EXPECT_EQ(conv.channels, 3 * 256);
  EXPECT_EQ(conv.window, 4);
  EXPECT_EQ(first<Gemm>(p, "o_proj").k, 256);
}

TEST(KimiDeltaOps, ALowRankGateHasASecondProduct) {
  const Program p = forward_program(of_mixer(kda(false)), {4, 1, 1, 1}, {}, prefill(2, 50));
  EXPECT_EQ(first<Gemm>(p, "in_proj").n, 3 * 256 + 2 * 64 + 4);
  EXPECT_EQ(first<Gemm>(p, "gate_proj").n, 256);
  EXPECT_EQ(first<Gemm>(p, "gate_proj").k, 64);
  EXPECT_EQ(first<LinearAttentionCore>(p, "mixer_prefill").new_tokens, 50);
}

// The state of a sequence is read and written whatever its context is.
TEST(KimiDeltaOps, AStepCostsTheSameAtEveryContext) {
  const Architecture m = of_mixer(kda(true));
  const auto bytes_at = [&](double past) {
    return first<LinearAttentionCore>(forward_program(m, {}, {}, decode(3, past)), "mixer_decode")
        .byte_count();
  };
  EXPECT_EQ(bytes_at(10), bytes_at(1e6));
  // 3 sequences: 16 states of 64 x 64 in fp32 read and written; q, k, v, decay and output of 1024.
  EXPECT_EQ(bytes_at(10), Bytes(3 * (2 * 16 * 64 * 64 * 4.0 + 5 * 1024 * 2)));
}

SoftmaxAttention gqa() {
  SoftmaxAttention a;
  a.heads = 16, a.kv_heads = 4, a.head_dim = a.value_dim = 64;
  return a;
}

TEST(SoftmaxOps, AHeadGateIsOneValueForEachHead) {
  SoftmaxAttention a = gqa();
  a.head_gate = true;
  const Program p = forward_program(of_mixer(a), {2, 1, 1, 1}, {}, decode(5, 9));
  EXPECT_EQ(first<Gemm>(p, "attn_gate_proj").n, 8);
  EXPECT_EQ(first<Gemm>(p, "attn_gate_proj").k, 1024);
  const auto gate = first<Elementwise>(p, "attn_gate");
  EXPECT_EQ(gate.read, Bytes(5 * (8 * 64 + 8) * 2));
  EXPECT_EQ(gate.written, Bytes(5 * 8 * 64 * 2));
}

TEST(SoftmaxOps, ValuesFromKeysNeedNoProductOfTheirOwn) {
  SoftmaxAttention a = gqa();
  a.values_from_keys = true;
  a.qk_norm = QkNorm::kPerHead;
  const Program p = forward_program(of_mixer(a), {}, {}, decode(5, 9));
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").n, (16 + 4) * 64);
  const auto norm = first<Elementwise>(p, "qk_norm");
  EXPECT_EQ(norm.read, Bytes(5 * (16 + 4) * 64 * 2));
  EXPECT_EQ(norm.written, Bytes(5 * (16 + 4 + 4) * 64 * 2));
  // Both are cached.
  EXPECT_EQ(first<Elementwise>(p, "rope").written, Bytes(5 * (16 + 4 + 4) * 64 * 2));
}

TEST(SoftmaxOps, ALayerWithASharedCacheReadsItAndWritesNothing) {
  SoftmaxAttention a = gqa();
  a.shares_kv = true;
  a.qk_norm = QkNorm::kPerHead;
  const Program p = forward_program(of_mixer(a), {}, {}, decode(5, 9));
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").n, 16 * 64);
  EXPECT_EQ(first<Elementwise>(p, "qk_norm").width, 16 * 64);
  EXPECT_EQ(first<Elementwise>(p, "rope").written, Bytes(5 * 16 * 64 * 2));
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").kv_heads, 4);
  a.rope = false;
  EXPECT_EQ(count(forward_program(of_mixer(a), {}, {}, decode(5, 9)), "kv_write"), 0);
}

TEST(LatentOps, AnOutputGateIsAsWideAsTheHeads) {
  LatentAttention a;
  a.heads = 32, a.q_lora_rank = 96, a.kv_lora_rank = 64;
  a.qk_nope_dim = 32, a.qk_rope_dim = 16, a.value_dim = 48;
  a.output_gate = true;
  const Program p = forward_program(of_mixer(a), {4, 1, 1, 1}, {}, decode(5, 9));
  EXPECT_EQ(first<Gemm>(p, "attn_gate_proj").n, 8 * 48);
  EXPECT_EQ(first<Elementwise>(p, "attn_gate").read, Bytes(2 * 5 * 8 * 48 * 2));
}

MoeMlp latent_moe() {
  MoeMlp m;
  m.experts = 64, m.top_k = 4, m.intermediate = 512, m.gated = false;
  m.shared_intermediate = 2048;
  m.latent = 256;
  return m;
}

TEST(LatentMoeOps, ExpertsAndExchangesHaveTheWidthOfTheLatent) {
  const Program p = forward_program(of_mlp(latent_moe()), {1, 1, 8, 8}, {}, decode(64, 9));
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").hidden, 256);
  const auto down = first<Gemm>(p, "moe_latent_down"), up = first<Gemm>(p, "moe_latent_up");
  EXPECT_EQ(down.m, 8);  // a dp group's own tokens
  EXPECT_EQ(down.n, 256);
  EXPECT_EQ(down.k, 1024);
  EXPECT_EQ(up.n, 1024);
  EXPECT_EQ(up.k, 256);
  // 8 tokens to 4 ranks each.
  EXPECT_EQ(first<Collective>(p, "moe_dispatch").bytes, Bytes(8 * 4 * 256 * 2));
  EXPECT_EQ(first<Collective>(p, "moe_combine").bytes, Bytes(8 * 4 * 256 * 2));
  EXPECT_EQ(count(p, "moe_latent_all_reduce"), 0);
  EXPECT_EQ(first<Gemm>(p, "shared_up_proj").k, 1024);  // shared experts see the hidden state
}

TEST(LatentMoeOps, TensorParallelRanksAddLatentsBeforeTheNorm) {
  MoeMlp m = latent_moe();
  m.latent_norm = true;
  const Program p = forward_program(of_mlp(m), {8, 1, 1, 1}, {}, decode(64, 9));
  EXPECT_EQ(first<Collective>(p, "moe_latent_all_reduce").bytes, Bytes(64 * 256 * 2));
  EXPECT_EQ(first<Elementwise>(p, "moe_latent_norm").width, 256);
  EXPECT_EQ(first<Gemm>(p, "moe_latent_up").n, 1024);  // whole on every rank
  EXPECT_EQ(count(p, "tp_all_reduce"), 1);             // of the shared experts
}

TEST(MoeOps, ScaledRoutersNormTheirInput) {
  MoeMlp m = latent_moe();
  m.latent = 0;
  m.router_scales = true;
  const Program p = forward_program(of_mlp(m), {}, {}, decode(64, 9));
  EXPECT_EQ(first<Elementwise>(p, "router_norm").read, Bytes(64 * 1024 * 2));
}

// Layers of two blocks: 4 sources, a kernel for each half that also reads the last output and
// writes the sum and the mixture. The final norm mixes once more.
TEST(LayerInputOps, AttentionResidualsReadTheBlockSums) {
  LayerSpec layer;
  layer.mixer = gqa();
  layer.mlp = DenseMlp{.intermediate = 512, .gated = true};
  layer.residual_sources = 4;
  Architecture m = one_layer(layer, 6);
  const Program p = forward_program(m, {2, 1, 1, 1}, {}, decode(5, 9));
  const auto residual = first<Elementwise>(p, "attn_residual");
  EXPECT_EQ(count(p, "attn_residual"), 12);
  EXPECT_EQ(count(p, "add_norm"), 0);
  EXPECT_EQ(residual.read, Bytes(5 * 5 * 1024 * 2));
  EXPECT_EQ(residual.written, Bytes(2 * 5 * 1024 * 2));
  EXPECT_EQ(first<Elementwise>(p, "final_norm").read, Bytes(5 * 5 * 1024 * 2));
  // A stage sends all sources on.
  ProgramOptions first_stage;
  first_stage.stage = 0;
  const Program staged = forward_program(m, {1, 2, 1, 1}, {}, decode(5, 9), first_stage);
  EXPECT_EQ(first<Collective>(staged, "pp_send").bytes, Bytes(4 * 5 * 1024 * 2));
}

TEST(LayerInputOps, PerLayerInputsAreLookedUpOnceAndGatedInEveryLayer) {
  LayerSpec layer;
  layer.mixer = gqa();
  layer.per_layer_input = 32;
  Architecture m = one_layer(layer, 6);
  m.per_layer_vocab = 1000;
  const Program p = forward_program(m, {2, 1, 1, 1}, {}, decode(5, 9));
  EXPECT_EQ(first<Embedding>(p, "per_layer_embedding").hidden, 6 * 32);
  EXPECT_EQ(first<Collective>(p, "per_layer_all_reduce").bytes, Bytes(5 * 6 * 32 * 2));
  EXPECT_EQ(first<Gemm>(p, "per_layer_model_proj").n, 6 * 32 / 2);
  EXPECT_EQ(count(p, "per_layer_gate"), 6);
  EXPECT_EQ(first<Gemm>(p, "per_layer_gate").n, 32);  // whole on every rank
  EXPECT_EQ(first<Gemm>(p, "per_layer_proj").k, 32);
  EXPECT_EQ(count(p, "per_layer_add_norm"), 6);
}

TrainingJob job_on(int tp, bool sequence_parallel) {
  TrainingJob job;
  job.seq = 1024;
  job.plan.tp = tp;
  job.plan.sequence_parallel = sequence_parallel;
  return job;
}

// With sequence parallelism every rank projects its own tokens to the latent and back.
TEST(HybridTraining, LatentProjectionsAreWholeOnEveryRank) {
  const Architecture m = of_mlp(latent_moe());
  const auto rows = [&](bool sequence_parallel) {
    for (const TrainingOp& op : training_ops(m, job_on(4, sequence_parallel), 0)) {
      if (op.name == "moe_latent_down") return std::get<Gemm>(op.op).m;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(rows(false), 1024);
  EXPECT_EQ(rows(true), 256);
}

TEST(HybridTraining, KimiDeltaHasABackwardPass) {
  double forward = 0, backward = 0;
  for (const TrainingOp& op : training_ops(of_mixer(kda(true)), job_on(1, false), 0)) {
    if (op.name != "mixer_prefill") continue;
    (op.pass == TrainingPass::kForward ? forward : backward) += op.count * flops(op.op).value();
  }
  EXPECT_EQ(forward, 1024 * 2 * 3 * 16.0 * 64 * 64);
  EXPECT_EQ(backward, 2 * forward);
}

// 1024 wide on 4 ranks: a quarter of the shared experts (2 x 1024 x 2048) and of both tables (1024
// rows), and whole the projections of 256, the router of 64 and two norms.
TEST(HybridTraining, ProjectionsAroundALatentAreCopied) {
  const ChunkParameters n = chunk_parameters(of_mlp(latent_moe()), job_on(4, false), 0);
  EXPECT_EQ(n.dense,
            2 * 1024 * 2048 / 4 + 2 * 1024 * 1024 / 4 + 2 * 1024 * 256 + 1024 * 64 + 2 * 1024);
  EXPECT_EQ(n.experts, 64 * 2 * 256 * 512 / 4);
}

// Rank 8 on q, k, v and o of 16 heads of 64, and on up and down of an expert of a latent of 256.
TEST(HybridTraining, AdaptersOfKimiDeltaAndOfExperts) {
  TrainingJob job = job_on(1, false);
  job.tuning = Tuning::kLora;
  job.lora_rank = 8;
  job.lora_targets = {"q", "k", "v", "o", "up", "down"};
  EXPECT_EQ(trained_parameters(of_mixer(kda(true)), job), 4 * 8 * (1024 + 1024));
  MoeMlp m = latent_moe();
  m.shared_intermediate = 0;
  EXPECT_EQ(trained_parameters(of_mlp(m), job), 64 * 2 * 8 * (256 + 512));
}

TEST(HybridTraining, PartsWithoutABackwardPassAreRefusedByName) {
  const auto message = [](const Architecture& m) -> std::string {
    try {
      check_job(m, TrainingJob{});
    } catch (const NoData& e) {
      return e.what();
    }
    return "";
  };
  CompressedAttention c;
  c.heads = 16, c.head_dim = 64, c.rope_dim = 16, c.q_lora_rank = 32, c.o_lora_rank = 32;
  c.window = 128;
  EXPECT_EQ(message(of_mixer(c)),
            "test: training of compressed attention (DeepSeek-V4) is not modelled");
  SoftmaxAttention a = gqa();
  a.blocks = BlockSelection{128, 16, 4, 64};
  EXPECT_EQ(message(of_mixer(a)), "test: training of attention to chosen blocks is not modelled");
}

}  // namespace hybrid_ops_test
}  // namespace orrery
