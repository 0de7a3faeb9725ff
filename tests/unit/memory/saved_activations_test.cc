#include "orrery/memory/saved_activations.h"

#include <gtest/gtest.h>

#include "tests/unit/memory/training_fixture.h"

namespace orrery {
namespace saved_activations_test {

using namespace training_fixture;

// Table 2 of Korthikanti et al. 2022: s b h (10 + 24/t + 5 a s/(h t)) with tensor parallelism, all
// of it divided by t with sequence parallelism too, the quadratic term dropped by selective and
// 2 s b h kept by full recomputation. Their 22B model: 48 layers, h 6144, a 64, s 2048, b 4, t 8.
TEST(SavedActivations, KorthikantisTable) {
  const Architecture m = gpt(48, 6144, 64);
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8;
  TrainingJob job = classic(8);
  job.micro_batch = job.global_batch = 4;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  job.plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), s * b * h / t * (34 + 5 * a * s / h));

  const double head = 2 * s * b * h / t * 2;  // final norm and LM head: their section 4.3
  job.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(), 48 * s * b * h / t * 34 + head);
  job.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(), 48 * 2 * s * b * h / t + head);
  job.recompute_layers = 12;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(),
                   s * b * h / t * (12 * 2 + 36 * (34 + 5 * a * s / h)) + head);
}

// A written GELU in eager kernels under autocast saves three tensors in fp32 and one in 16 bits in
// place of one in 16 bits; four in 16 bits with ZeRO 3, which has no autocast. Fused kernels save
// its input alone.
TEST(SavedActivations, EagerKernelsOfAWrittenGelu) {
  const Architecture plain = gpt(1, 1024, 16);
  LayerSpec layer = plain.layers.at(0);
  std::get<DenseMlp>(layer.mlp).activation = Activation::kWrittenGelu;
  TrainingJob job = classic();
  const double inner = 4.0 * 1024 * static_cast<double>(rank_tokens(job));
  const auto more = [&](bool fused) {
    TrainingMemoryConstants stack;
    stack.fused = fused;
    return (layer_activations(plain, layer, job, stack).saved -
            layer_activations(plain, plain.layers.at(0), job, stack).saved)
               .value() /
           inner;
  };
  EXPECT_DOUBLE_EQ(more(false), 12);
  EXPECT_DOUBLE_EQ(more(true), 0);
  job.plan.zero = 3;
  EXPECT_DOUBLE_EQ(more(false), 6);
}

// Figure 1 of the same paper: the 530B model (105 layers, h 20480, a 128, b 1, t 8, p 35) with
// tensor parallelism alone stores s b h L (10 + 24/t + 5 a s/(h t)) on the first stage of 1F1B,
// whatever p is.
TEST(SavedActivations, FirstStageHoldsAsMuchAsTheWholeModelWould) {
  const Architecture m = gpt(105, 20480, 128);
  TrainingJob job = classic(8);
  job.plan.pp = 35;
  job.global_batch = 280;
  const double layer = 2048.0 * 20480 * (10 + 3 + 5 * 128 * 2048.0 / (20480 * 8));
  const StageLoad first = classic_load(job, 0);
  EXPECT_EQ(first.in_flight, 35);
  EXPECT_NEAR(first.in_flight * chunk_activations(m, job, {}, 0).value() / (105 * layer), 1, 1e-12);
}

// Kimi delta attention by hand: 256 wide, 4 heads of 32, a gate of full rank, 3 sources of the
// residual. A token saves its norm's input, the input of the products, 32 inputs of the decay, 384
// inputs and outputs of the convolution, the decay and beta in fp32, two rows of 64 for each head,
// the output and its gate, and the input of the last product; each half the sum of the block and
// three weights.
TEST(SavedActivations, KimiDeltaAndAttentionResiduals) {
  Architecture m;
  m.hidden = 256, m.vocab = 1024;
  LayerSpec layer;
  layer.mixer = KimiDelta{.heads = 4, .head_dim = 32, .conv = 4, .full_rank_gate = true};
  layer.norms = 1;
  m.layers.append(layer);
  TrainingJob job;
  job.seq = 64;
  const double token = 2 * 256 + 2 * 256 + 2 * 32 + 2 * 2 * 384 + 4 * (128 + 4) + 2 * 2 * 64 * 4 +
                       2 * 2 * 128 + 2 * 128;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 64 * token);
  layer.residual_sources = 3;
  Architecture k3 = m;
  k3.layers = {};
  k3.layers.append(layer);
  EXPECT_DOUBLE_EQ(layer_bytes(k3, job), 64 * (token + 2 * (2 * 256 + 3 * 4)));
}

// Llama-3-8B by hand: 4096 wide, 32 heads of 128, 8 key-value heads, 14336 wide MLP, flash.
TEST(SavedActivations, GroupedQueriesAndGatedMlp) {
  const Architecture m = load_model("llama-3-8b");
  TrainingJob job;
  job.seq = 8192;
  const double tokens = 8192, lse = 4 * 32;
  // Two norms, two inputs, q, k and v, output; gate and up, their product.
  const double fused = 2 * (4 * 4096 + 4096 + 2048 + 4096 + 3 * 14336) + lse;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), tokens * fused);
  // Eager layers of PyTorch save fp32 inputs of norms in addition to the normed rows, 32 key and
  // value heads, and the activated gate.
  TrainingMemoryConstants eager;
  eager.fused = false;
  eager.expanded_kv = true;
  const double more = 2 * 4 * 4096 + 2 * (8192 - 2048) + 2 * 14336;
  EXPECT_DOUBLE_EQ(layer_activations(m, m.layers.specs()[0], job, eager).saved.value(),
                   tokens * (fused + more));
  // Fused norms beside an eager activation (Nanotron).
  TrainingMemoryConstants gates;
  gates.activated_gates = true;
  EXPECT_DOUBLE_EQ(layer_activations(m, m.layers.specs()[0], job, gates).saved.value(),
                   tokens * (fused + 2 * 14336));
  // fp8: operands in one byte; attention's output is kept in both.
  job.precision.compute = Dtype::kFp8;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), tokens * (fused - 2 * 4096 + 4096 - 14336));
}

// Bytes of a token that each module of selective recomputation drops, by hand in 16 bits. A block
// that runs again keeps its input, unless the norm that makes it runs again too.
TEST(SavedActivations, ModulesDropTheirOwnTensors) {
  using Module = RecomputeModule;
  const auto dropped = [](const char* model, std::vector<Module> modules, int layer = 0) {
    const Architecture m = load_model(model);
    TrainingJob job;
    job.seq = 4096;
    job.recompute = Recompute::kSelective;
    job.recompute_modules = std::move(modules);
    const LayerSpec& spec = m.layers.at(layer);
    return layer_activations(m, spec, job, {}).dropped.value() / 4096;
  };
  EXPECT_DOUBLE_EQ(dropped("llama-3-8b", {Module::kCoreAttention}), 0);
  EXPECT_DOUBLE_EQ(dropped("llama-3-8b", {Module::kMlp}), 2 * 3 * 14336);
  EXPECT_DOUBLE_EQ(dropped("llama-3-8b", {Module::kLayerNorm}), 2 * 2 * 4096);
  EXPECT_DOUBLE_EQ(dropped("llama-3-8b", {Module::kMlp, Module::kLayerNorm}),
                   2 * (3 * 14336 + 2 * 4096));
  // Two rows a token of four tensors' experts, their inputs and outputs, and logits and weights.
  EXPECT_DOUBLE_EQ(dropped("mixtral-8x7b", {Module::kMoe}), 8 * 8 + 2 * 2 * (2 * 4096 + 3 * 14336));
  EXPECT_DOUBLE_EQ(dropped("mixtral-8x7b", {Module::kMoeActivation}), 2 * 2 * 14336);
  EXPECT_DOUBLE_EQ(dropped("mixtral-8x7b", {Module::kMoe, Module::kMoeActivation}),
                   dropped("mixtral-8x7b", {Module::kMoe}));
  // q and k of 128 heads of 192, v of 128, and the two latents that the projections read.
  EXPECT_DOUBLE_EQ(dropped("deepseek-v3", {Module::kMlaUpProj}),
                   2 * (128 * (2 * 192 + 128) + 1536 + 512));
  EXPECT_DOUBLE_EQ(dropped("deepseek-v3", {Module::kMlp}), 2 * 3 * 18432);
  EXPECT_DOUBLE_EQ(dropped("deepseek-v3", {Module::kMlp}, 60), 0);  // of experts
}

TEST(SavedActivations, FrozenWeightsNeedFewerInputs) {
  const Architecture m = load_model("llama-2-7b");
  TrainingJob job;
  job.tuning = Tuning::kLora;
  job.lora_targets = {"q", "v"};
  // Norm inputs, the input of q and v, q, k, v and the output, gate and up; lse.
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (2 * (7 * 4096 + 2 * 11008.0) + 4 * 32));
  job.lora_targets = {"q", "v", "down"};
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (2 * (7 * 4096 + 3 * 11008.0) + 4 * 32));
}

// Mixtral 8x7B, 8 ways expert parallel: each rank's 2 * T routed rows, balanced.
TEST(SavedActivations, RoutedRows) {
  const Architecture m = load_model("mixtral-8x7b");
  TrainingJob job;
  job.plan.dp = job.plan.ep = 8;
  job.global_batch = 8;
  const double attention = 2 * (2 * 4096 + 4096 + 4096 + 2048 + 4096) + 4 * 32;
  const double moe = 2 * 4096 + 8 * 8 + 2 * 2 * (2 * 4096 + 3 * 14336);
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (attention + moe));
  // Megatron Core multiplies by the routing weights before the second product and keeps no outputs.
  EXPECT_DOUBLE_EQ(
      layer_bytes(m, job) -
          layer_activations(m, m.layers.specs()[0], job, stack("megatron")).saved.value(),
      2048 * 2 * 2 * 4096);
  const double balanced = layer_bytes(m, job);
  job.expert_skew = 1;
  EXPECT_GT(layer_bytes(m, job), 1.2 * balanced);
  job.capacity_factor = 1;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), balanced);
  // Experts of tensor-parallel ranks: the same rows, each of a part of the width.
  job = {};
  job.plan.tp = 2;
  job.plan.sequence_parallel = true;
  EXPECT_LT(layer_bytes(m, job), 0.75 * balanced);
}

TEST(SavedActivations, ContextParallelDividesTokens) {
  const Architecture m = load_model("llama-3-8b");
  TrainingJob one, four;
  one.seq = four.seq = 32768;
  four.plan.cp = 4;
  EXPECT_DOUBLE_EQ(layer_bytes(m, one), 4 * layer_bytes(m, four));
}

}  // namespace saved_activations_test
}  // namespace orrery
