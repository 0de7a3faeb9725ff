// Weights of a training rank, by hand.
#include "orrery/workload/training/training_parameters.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"
#include "tests/refusal.h"

namespace orrery {
namespace training_parameters_test {

TrainingJob job_on(int tp) {
  TrainingJob job;
  job.plan.tp = tp;
  job.global_batch = 1;
  return job;
}

// Dense parameters of a rank in one layer with this mixer and nothing else.
double of_mixer(const Mixer& mixer, int hidden, const TrainingJob& job) {
  Architecture one;
  one.hidden = hidden, one.vocab = 128;
  LayerSpec layer;
  layer.mixer = mixer;
  layer.norms = 0;
  one.layers.append(layer);
  Architecture two = one;
  two.layers.append(layer);
  return chunk_parameters(two, job, 0).dense - chunk_parameters(one, job, 0).dense;
}

// DeepSeek-V3: 128 heads, 1,536 and 512 + 64 of latents. Ranks divide the projections of heads.
TEST(TrainingParameters, RanksHoldTheProjectionsToLatentsWhole) {
  const Architecture m = load_model("deepseek-v3");
  const double hidden = 7168, down = hidden * 1536 + hidden * 576 + 1536 + 512;
  const double heads = 1536 * 128.0 * 192 + 512 * 128.0 * 256 + 128 * 128 * hidden;
  const Mixer& mixer = m.layers.at(0).mixer;
  EXPECT_EQ(of_mixer(mixer, m.hidden, job_on(8)), down + heads / 8);
  EXPECT_EQ(of_mixer(mixer, m.hidden, job_on(1)), down + heads);
}

// Llama-3-8B has 8 KV heads of 128. Sixteen ranks cut each in two, and gather 4,096 + 2 * 1,024
// outputs of every token.
TEST(TrainingParameters, MoreRanksThanKeyValueHeadsCutThem) {
  const Architecture m = load_model("llama-3-8b");
  const double hidden = 4096, all = hidden * (2 * 4096 + 2 * 1024);
  EXPECT_EQ(of_mixer(m.layers.at(0).mixer, m.hidden, job_on(16)), all / 16);
  TrainingJob job = job_on(16);
  double product = 0, gathered = 0, scattered = 0;
  for (const TrainingOp& op : training_ops(m, job, 0)) {
    const auto* g = std::get_if<Gemm>(&op.op);
    if (g && op.name == "qkv_proj" && op.pass == TrainingPass::kForward)
      product = static_cast<double>(g->n);
    const auto* c = std::get_if<Collective>(&op.op);
    if (!c || op.name != "qkv_all_gather") continue;
    EXPECT_EQ(c->bytes.value(), 2048 * 6144 * 2.0);
    (c->kind == Collective::Kind::kAllGather ? gathered : scattered) += op.count;
  }
  EXPECT_EQ(product, 6144 / 16);
  EXPECT_EQ(gathered, 32);
  EXPECT_EQ(scattered, 32);
  for (const TrainingOp& op : training_ops(m, job_on(8), 0)) EXPECT_NE(op.name, "qkv_all_gather");
}

// Granite 4.0 H has one group of B and C.
TEST(TrainingParameters, GroupsOfRecurrencesAreNotCut) {
  const Architecture m = load_model("granite-4.0-h-micro");
  EXPECT_EQ(refusal_of<Infeasible>([&] { check_job(m, job_on(1)); }), "");
  EXPECT_NE(refusal_of<Infeasible>([&] { check_job(m, job_on(2)); }).find("groups"),
            std::string::npos);
}

// An attention with biases everywhere: that of the output is whole.
TEST(TrainingParameters, BiasesOfOutputsAndNormsOfAHeadAreWhole) {
  SoftmaxAttention a;
  a.heads = a.kv_heads = 8, a.head_dim = a.value_dim = 16;
  a.q_bias = a.k_bias = a.v_bias = a.o_bias = true;
  a.qk_norm = QkNorm::kPerHead;
  const double hidden = 64, width = 128;
  EXPECT_EQ(of_mixer(a, 64, job_on(4)), (4 * hidden * width + 3 * width) / 4 + hidden + 2 * 16);
}

// Adapters of rank 8 on q and o: the side of hidden elements is whole.
TEST(TrainingParameters, AdaptersAreDividedAsTheirMatrices) {
  SoftmaxAttention a;
  a.heads = a.kv_heads = 8, a.head_dim = a.value_dim = 16;
  Architecture m;
  m.hidden = 64, m.vocab = 128;
  LayerSpec layer;
  layer.mixer = a;
  m.layers.append(layer);
  TrainingJob job = job_on(4);
  job.tuning = Tuning::kLora, job.lora_rank = 8, job.lora_targets = {"q", "o"};
  EXPECT_EQ(chunk_parameters(m, job, 0).trained(), 2 * 8 * (64 + 128 / 4));
  EXPECT_EQ(trained_parameters(m, job), 2 * 8 * (64 + 128));
  job.tuning = Tuning::kDora;  // a magnitude for each output
  EXPECT_EQ(chunk_parameters(m, job, 0).trained(), 2 * 8 * (64 + 128 / 4) + 128 / 4 + 64);
}

// Each of two expert groups has half of the experts' adapters.
TEST(TrainingParameters, AdaptersOfExpertsAreWhereTheExpertsAre) {
  MoeMlp moe;
  moe.experts = 4, moe.top_k = 1, moe.intermediate = 32;
  Architecture m;
  m.hidden = 64, m.vocab = 128;
  LayerSpec layer;
  layer.mlp = moe;
  m.layers.append(layer);
  TrainingJob job = job_on(1);
  job.plan.dp = 2, job.plan.ep = 2, job.global_batch = 2;
  job.tuning = Tuning::kLora, job.lora_rank = 8, job.lora_targets = {"up"};
  EXPECT_EQ(chunk_parameters(m, job, 0).trained_experts, 2 * 8 * (64 + 32));
  EXPECT_EQ(chunk_parameters(m, job, 0).trained_dense, 0);
}

}  // namespace training_parameters_test
}  // namespace orrery
