// Rows of an invented table with the columns of iteration.csv: stated settings, and defaults of the
// stack.
#include "orrery/validate/rows/training_rows.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>

#include "orrery/base/error.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace training_rows_test {

using Fields = std::map<std::string, std::string>;

const std::vector<std::string> kColumns = {"source",
                                           "source_ref",
                                           "model",
                                           "gpu",
                                           "n_gpus",
                                           "gpus_per_node",
                                           "interconnect",
                                           "dtype",
                                           "precision_note",
                                           "framework",
                                           "framework_version",
                                           "seq_len",
                                           "micro_batch",
                                           "global_batch",
                                           "grad_accum",
                                           "tp",
                                           "pp",
                                           "vp",
                                           "pp_schedule",
                                           "dp",
                                           "cp",
                                           "ep",
                                           "zero_stage",
                                           "fsdp",
                                           "sequence_parallel",
                                           "recompute",
                                           "offload",
                                           "compile",
                                           "flags",
                                           "finetune",
                                           "lora_rank",
                                           "iteration_s",
                                           "tokens_per_s_per_gpu",
                                           "mfu",
                                           "hfu",
                                           "memory_gb",
                                           "memory_kind",
                                           "oom",
                                           "note"};

const char* kModels =
    "model,family,layers,hidden,heads,kv_heads,head_dim,ffn,gated,vocab,tied_embeddings,"
    "learned_positions,attention,q_lora,kv_lora,qk_nope_dim,qk_rope_dim,v_dim,n_experts,top_k,"
    "moe_ffn,n_shared_experts,shared_ffn,dense_layers\n"
    "llama-3-8b,llama3,32,4096,32,8,128,14336,1,128256,0,0,gqa,,,,,,,,,,,\n"
    "gpt3-175b,gpt3,96,12288,96,96,128,49152,0,51200,1,1,mha,,,,,,,,,,,\n"
    "deepseek-v3,deepseek3,61,7168,128,128,56,18432,1,129280,0,0,mla,1536,512,128,64,128,256,8,"
    "2048,1,2048,3\n"
    "gpt-oss-20b,gpt-oss,24,2880,64,8,64,,1,201088,0,0,gqa,,,,,,32,4,2880,,,0\n"
    "t5-3b,t5,24,2048,32,32,64,5120,1,29184,0,0,mha,,,,,,,,,,,\n"
    "secret,hybrid,,,,,,,0,,0,0,,,,,,,,,,,,\n";

class TrainingRows : public testing::Test {
 protected:
  TrainingRows() {
    std::filesystem::create_directories(dir_);
    std::ofstream(dir_ / "models.csv") << kModels;
  }
  ~TrainingRows() override { std::filesystem::remove_all(dir_); }

  TrainingRow read(Fields fields) {
    const Fields usual = {{"source", "s"},
                          {"model", "llama-3-8b"},
                          {"gpu", "h100_sxm"},
                          {"n_gpus", "64"},
                          {"gpus_per_node", "8"},
                          {"dtype", "bf16"},
                          {"framework", "torchtitan"},
                          {"framework_version", "2025-06"},
                          {"seq_len", "8192"},
                          {"micro_batch", "2"},
                          {"global_batch", "256"},
                          {"tp", "1"},
                          {"pp", "1"},
                          {"iteration_s", "10"}};
    fields.insert(usual.begin(), usual.end());
    std::ofstream csv(dir_ / "iteration.csv");
    for (std::size_t i = 0; i < kColumns.size(); ++i) csv << (i ? "," : "") << kColumns[i];
    csv << "\n";
    for (std::size_t i = 0; i < kColumns.size(); ++i)
      csv << (i ? "," : "") << '"' << fields[kColumns[i]] << '"';
    csv << "\n";
    csv.close();
    return read_training_rows(dir_, Catalog()).at(0);
  }

  std::filesystem::path dir_ = std::filesystem::path(testing::TempDir()) /
                               testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TrainingRows, StatedFieldsAreTheJob) {
  const TrainingRow r = read({{"tp", "2"},
                              {"zero_stage", "3"},
                              {"fsdp", "8"},
                              {"sequence_parallel", "1"},
                              {"recompute", "full"},
                              {"flags", "async_tp"},
                              {"interconnect", "NVLink; RDMA 400 Gb/s per GPU"}});
  ASSERT_EQ(r.refused, "");
  EXPECT_TRUE(r.complete);
  EXPECT_TRUE(r.undeclared.empty());
  EXPECT_EQ(r.gpu, "h100-sxm");
  EXPECT_EQ(r.stack.name, "fsdp");
  EXPECT_TRUE(r.compiled);
  const TrainingPlan& p = r.job.plan;
  EXPECT_EQ(p.dp, 32);
  EXPECT_EQ(p.zero, 3);
  EXPECT_EQ(p.sharding(), 8);
  EXPECT_TRUE(p.sequence_parallel && p.tp_overlap);
  EXPECT_EQ(r.job.recompute, Recompute::kFull);
  EXPECT_EQ(r.job.micro_batches(), 4);
  EXPECT_EQ(*r.iteration, Seconds(10));
  EXPECT_EQ(r.node.network.fabric, "roce-400");
  EXPECT_EQ(r.node.network.ports, 8);
}

TEST_F(TrainingRows, WhatARowLeavesOutIsTheStacksAndIsListed) {
  const TrainingRow r = read({{"tp", "4"}, {"pp", "2"}, {"framework", "NeMo (Megatron-Core)"}});
  for (const char* field : {"recompute", "zero", "vp", "sequence_parallel", "network"})
    EXPECT_FALSE(r.declares(field)) << field;
  EXPECT_TRUE(r.job.plan.sequence_parallel);
  EXPECT_EQ(r.job.plan.zero, 1);
  EXPECT_EQ(r.job.plan.vp, 1);
  EXPECT_EQ(r.job.recompute, Recompute::kNone);
  EXPECT_EQ(r.job.precision.gradients, Dtype::kBf16);
  EXPECT_EQ(r.node.network.fabric, "ib-ndr");
}

TEST_F(TrainingRows, OldMegatronRecomputesAllAndOverlapsNothing) {
  const TrainingRow r = read({{"model", "gpt3-175b"},
                              {"gpu", "a100_sxm_80gb"},
                              {"framework", "Megatron-LM"},
                              {"framework_version", "2021-04"},
                              {"dtype", "fp16"},
                              {"tp", "8"},
                              {"pp", "4"},
                              {"seq_len", "2048"}});
  ASSERT_EQ(r.refused, "");
  EXPECT_FALSE(r.job.flash || r.job.plan.dp_overlap || r.job.plan.sequence_parallel);
  EXPECT_TRUE(r.job.dropout);
  EXPECT_EQ(r.job.recompute, Recompute::kFull);
  EXPECT_EQ(r.job.precision.compute, Dtype::kFp16);
  EXPECT_EQ(r.job.precision.gradients, Dtype::kFp16);
}

TEST_F(TrainingRows, TheThirdOfTheBatchFiguresFollows) {
  const TrainingRow global = read({{"global_batch", ""}, {"grad_accum", "3"}});
  EXPECT_EQ(global.job.global_batch, 2 * 64 * 3);
  const TrainingRow micro = read({{"micro_batch", ""}, {"grad_accum", "4"}});
  EXPECT_EQ(micro.job.micro_batch, 1);
  EXPECT_TRUE(global.complete && micro.complete);
  const TrainingRow one = read({{"micro_batch", ""}});
  EXPECT_FALSE(one.complete);
  EXPECT_FALSE(one.declares("micro_batch"));
}

TEST_F(TrainingRows, TheGlobalBatchDecidesAgainstTheAccumulation) {
  const TrainingRow r = read({{"grad_accum", "8"}});
  EXPECT_EQ(r.job.micro_batches(), 2);
  EXPECT_NE(r.distrusted.find("states 8 micro-batches"), std::string::npos);
}

TEST_F(TrainingRows, AGlobalBatchThatDoesNotDivideIsRoundedAndTheTimeWithIt) {
  const TrainingRow r = read({{"global_batch", "300"}});
  EXPECT_EQ(r.job.global_batch, 256);
  EXPECT_NEAR(r.iteration->value(), 10.0 * 256 / 300, 1e-12);
  EXPECT_FALSE(r.distrusted.empty());
}

TEST_F(TrainingRows, ARateIsATime) {
  const TrainingRow r = read({{"iteration_s", ""}, {"tokens_per_s_per_gpu", "1000"}});
  EXPECT_NEAR(r.iteration->value(), 256.0 * 8192 / (1000 * 64), 1e-9);
}

TEST_F(TrainingRows, RecomputedShareOfFsdpFromUtilisations) {
  const TrainingRow r = read({{"recompute", "selective"}, {"mfu", "0.4"}, {"hfu", "0.5"}});
  EXPECT_EQ(r.job.recompute, Recompute::kFull);
  EXPECT_EQ(r.job.recompute_layers, 24);  // 0.5 / 0.4 - 1 = a quarter more, three quarters of them
}

TEST_F(TrainingRows, ExpertsOverMoreRanksThanTensorParallelOnes) {
  const TrainingRow r = read({{"model", "deepseek-v3"},
                              {"framework", "Megatron-Bridge"},
                              {"gpu", "gb200"},
                              {"gpus_per_node", "4"},
                              {"tp", "2"},
                              {"pp", "2"},
                              {"vp", "4"},
                              {"ep", "32"},
                              {"dtype", "mxfp8"},
                              {"seq_len", "4096"}});
  ASSERT_EQ(r.refused, "");
  EXPECT_EQ(r.job.plan.expert_tp(), 1);
  EXPECT_EQ(r.node.gpu_count, 72);  // trays of four in one rack
  EXPECT_EQ(r.job.precision.recipe, Fp8Recipe::kMx);
  // 61 layers, embedding and head on 8 chunks.
  EXPECT_EQ(std::accumulate(r.job.plan.split.begin(), r.job.plan.split.end(), std::int64_t{0}), 61);
  EXPECT_EQ(r.job.plan.split.size(), 8u);
  // Published: 671 billion parameters, 37 active (multi-token prediction left out).
  const ParameterCounts n = count_parameters(r.model);
  EXPECT_NEAR(static_cast<double>(n.total()), 671e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(n.active()), 37.5e9, 0.5e9);
}

TEST_F(TrainingRows, ExpertsAsThePageSaysThem) {
  Fields row = {{"source", "dgxc-benchmarking"},
                {"source_ref", "grok1/README_314b.md 2025-06-09 35a9aecc8"},
                {"model", "gpt-oss-20b"},
                {"framework", "NeMo (Megatron-Core)"},
                {"tp", "4"},
                {"ep", "8"}};
  TrainingRow r = read(row);
  ASSERT_EQ(r.refused, "");
  EXPECT_EQ(r.job.plan.expert_tp(), 4);
  EXPECT_EQ(r.job.capacity_factor, 1);
  EXPECT_TRUE(r.declares("etp"));
  // grok1/configure.sh of that commit: model.ub_tp_comm_overlap=true; launch.sh: FW_VERSION=24.09.
  EXPECT_TRUE(r.job.plan.tp_overlap);
  EXPECT_FALSE(r.job.fused_cross_entropy);
  EXPECT_EQ(r.version, "24.09");
  row["source_ref"] = "grok1/README.md 2025-07-23 dfc80397b";
  r = read(row);
  EXPECT_EQ(r.job.plan.expert_tp(), 1);
  EXPECT_TRUE(r.job.plan.tp_overlap);
  EXPECT_TRUE(r.job.fused_cross_entropy);
  row["source_ref"] = "llama/README.md";
  r = read(row);
  EXPECT_EQ(r.job.capacity_factor, 0);
  EXPECT_FALSE(r.declares("etp"));
}

TEST_F(TrainingRows, RowsThatCannotBeAsked) {
  EXPECT_NE(read({{"gpu", "trn1_core"}}).refused, "");
  EXPECT_NE(read({{"seq_len", ""}}).refused.find("sequence length"), std::string::npos);
  EXPECT_NE(read({{"n_gpus", ""}}).refused.find("GPUs"), std::string::npos);
  EXPECT_NE(read({{"model", "t5-3b"}}).refused.find("encoder"), std::string::npos);
  EXPECT_NE(read({{"model", "secret"}}).refused.find("dimensions"), std::string::npos);
  EXPECT_NE(read({{"model", "unheard-of"}}).refused.find("unheard-of"), std::string::npos);
  EXPECT_NE(read({{"framework", "my own"}}).refused.find("my own"), std::string::npos);
  EXPECT_NE(read({{"tp", "3"}}).refused.find("does not divide 64"), std::string::npos);
  EXPECT_NE(read({{"finetune", "adapter"}}).refused.find("adapter"), std::string::npos);
  EXPECT_FALSE(read({{"seq_len", ""}}).complete);
}

TEST_F(TrainingRows, LlamaAndGptOssHaveTheirPublishedSizes) {
  EXPECT_NEAR(static_cast<double>(count_parameters(read({}).model).total()), 8.03e9, 0.01e9);
  const Architecture oss = read({{"model", "gpt-oss-20b"}}).model;
  EXPECT_NEAR(static_cast<double>(count_parameters(oss).total()), 20.9e9, 0.1e9);
  EXPECT_EQ(oss.layers.specs().size(), 2u);  // with and without a window
}

StackDefaults defaults_of(const char* framework, const char* version, const char* dtype) {
  return stack_defaults(training_stacks(), framework, version, dtype);
}

TEST(StackDefaults, YearsOfVersions) {
  EXPECT_EQ(defaults_of("NeMo (Megatron-Core)", "24.09", "bf16").year, 2024);
  EXPECT_EQ(defaults_of("NeMo (Megatron-Core)", "NeMo24.07", "bf16").year, 2024);
  EXPECT_EQ(defaults_of("Megatron-Core", "0.8.0", "bf16").year, 0);
}

// The names of frameworks in the measured tables, of which several are parts of others.
TEST(StackDefaults, FrameworksBelongToTheStackOfTheLongestName) {
  const std::pair<const char*, const char*> frameworks[] = {
      {"Colossal-AI", "colossalai"},
      {"DeepSpeed + HF", "deepspeed"},
      {"DeepSpeed ZeRO-3", "deepspeed"},
      {"FlashAttention training scripts", "hf"},
      {"GPT-NeoX (Megatron-DeepSpeed)", "megatron-deepspeed"},
      {"HAI-LLM", "megatron"},
      {"HF PEFT", "hf"},
      {"InternEvo", "internevo"},
      {"LLMQ (CUDA C++)", "llmq"},
      {"Levanter (JAX)", "maxtext"},
      {"LitGPT", "litgpt"},
      {"MaxText (JAX)", "maxtext"},
      {"MegaScale", "megatron"},
      {"Megatron-Bridge", "megatron"},
      {"Megatron-Core", "megatron"},
      {"Megatron-DeepSpeed", "megatron-deepspeed"},
      {"Megatron-LM + DeepSpeed", "megatron-deepspeed"},
      {"Meta internal (FSDP, TP, PP, CP)", "fsdp"},
      {"NeMo (Megatron-Core)", "megatron"},
      {"NeMo AutoModel (PyTorch FSDP2)", "fsdp"},
      {"NeMo Megatron", "megatron"},
      {"OneFlow", "oneflow"},
      {"Pathways (JAX)", "maxtext"},
      {"Paxml (JAX)", "maxtext"},
      {"Primus (Megatron-LM)", "megatron"},
      {"fms-fsdp (PyTorch FSDP)", "fsdp"},
      {"lit-gpt (FSDP)", "fsdp"},
      {"llm-foundry (Composer, PyTorch FSDP)", "fsdp"},
      {"metaseq (FSDP + Megatron TP)", "fsdp"},
      {"nanotron", "nanotron"},
      {"torchtitan", "fsdp"},
      {"torchtune", "torchtune"},
      {"something", ""},
  };
  for (const auto& [framework, stack] : frameworks)
    EXPECT_EQ(defaults_of(framework, "2025", "bf16").name, stack) << framework;
}

TEST(StackDefaults, RowsBefore2023HaveTheSettingsOfTheirTime) {
  const StackDefaults old = defaults_of("NeMo Megatron", "2022-05", "bf16");
  EXPECT_EQ(old.name, "megatron-2021");
  EXPECT_EQ(old.recompute, Recompute::kFull);
  EXPECT_TRUE(old.dropout && old.tp_overlap);
  EXPECT_FALSE(old.tuned || old.dp_overlap || old.fused_cross_entropy || old.sequence_parallel);
  EXPECT_EQ(old.gradients, Dtype::kBf16);
  EXPECT_EQ(old.lora_rank, 32);
  const StackDefaults bigscience = defaults_of("Megatron-DeepSpeed", "2022-02", "fp16");
  EXPECT_EQ(bigscience.name, "megatron-deepspeed");
  EXPECT_EQ(bigscience.recompute, Recompute::kFull);
  EXPECT_EQ(bigscience.zero_stage, 1);
  EXPECT_EQ(bigscience.gradients, Dtype::kFp16);
  const StackDefaults now = defaults_of("NeMo (Megatron-Core)", "24.09", "bf16");
  EXPECT_EQ(now.recompute, Recompute::kNone);
  EXPECT_TRUE(now.tuned && now.dp_overlap && now.fused_cross_entropy && now.sequence_parallel);
}

// By release, model and rack as Bridge's pull requests have it.
TEST(StackDefaults, BridgeFusesAndOverlapsExpertsSince2606) {
  const auto of = [](const char* model, const char* gpu, const char* version,
                     const char* dtype = "mxfp8") {
    return overlaps_experts("megatron-bridge", model, gpu, dtype, version);
  };
  EXPECT_TRUE(of("qwen3-235b-a22b", "gb200", "26.06"));
  EXPECT_TRUE(of("deepseek-v3", "gb300", "26.08"));
  EXPECT_FALSE(of("qwen3-235b-a22b", "gb200", "26.04.01"));
  EXPECT_FALSE(of("qwen3-235b-a22b", "gb200", "26.06", "bf16"));
  EXPECT_FALSE(of("qwen3-235b-a22b", "b300-sxm", "26.06"));
  EXPECT_TRUE(of("qwen3-235b-a22b", "b300-sxm", "26.06.01"));
  EXPECT_FALSE(of("qwen3-235b-a22b", "h100-sxm", "26.08"));
  EXPECT_FALSE(of("nemotron-3-nano", "gb200", "26.08"));
  EXPECT_FALSE(of("llama-3-70b", "gb200", "26.08"));
  EXPECT_FALSE(overlaps_experts("torchtitan", "deepseek-v3", "gb300", "mxfp8", "26.08"));
}

// Presets of 2026 for racks move tokens by HybridEP; gpt-oss's do not.
TEST(StackDefaults, BridgesRecipesOfRacksHaveHybridEp) {
  const auto hybrid = [](const char* model, const char* gpu, const char* version) {
    return has_hybrid_ep("megatron-bridge", model, gpu, version);
  };
  EXPECT_TRUE(hybrid("qwen3-235b-a22b", "gb200", "26.02"));
  EXPECT_TRUE(hybrid("kimi-k2", "gb300", "26.04.01"));
  EXPECT_FALSE(hybrid("qwen3-235b-a22b", "gb200", "25.11"));
  EXPECT_FALSE(hybrid("qwen3-235b-a22b", "h100-sxm", "26.04"));
  EXPECT_FALSE(hybrid("gpt-oss-120b", "gb200", "26.04"));
  EXPECT_FALSE(has_hybrid_ep("torchtitan", "qwen3-30b-a3b", "gb200", "26.02"));
}

// The table leaves the column of this row empty; its recipe has ep_size 64.
TEST(StackDefaults, AutoModelsRecipeOfGptOssDividesItsExperts) {
  EXPECT_EQ(stated_expert_ranks("nemo-automodel", "gpt-oss-120b"), 64);
  EXPECT_EQ(stated_expert_ranks("nemo-automodel", "qwen3-30b-a3b"), 1);
  EXPECT_EQ(stated_expert_ranks("megatron-bridge", "gpt-oss-120b"), 1);
}

// configure.sh of these pages: NVTE_FUSED_ATTN and model.fp8_params; launch.sh: FW_VERSION.
TEST(StackDefaults, ScriptsOfDgxcBenchmarkingStateAttentionAndParameters) {
  const auto grok = stated_script("dgxc-benchmarking", "grok1/README_314b.md 2025-06-09 8f5cbb379");
  ASSERT_TRUE(grok);
  EXPECT_EQ(grok->container, "24.12");
  EXPECT_EQ(grok->attention, "flash2");
  EXPECT_TRUE(grok->fp8_parameters);
  const auto llama =
      stated_script("dgxc-benchmarking", "llama3.1/README_70b.md 2025-06-09 8f5cbb379");
  ASSERT_TRUE(llama);
  EXPECT_EQ(llama->attention, "cudnn");
  EXPECT_FALSE(stated_script("dgxc-benchmarking", "grok1/README.md 2025-06-10 68eaf7e11"));
  EXPECT_FALSE(stated_script("nemo", "grok1/README_314b.md 2025-06-09 8f5cbb379"));
}

// submit_benchmarks.py of 2023: the default of --attn_impl. Later pages were made with flash-attn.
TEST(StackDefaults, LlmFoundrysBenchmarksOf2023CalledTritonsAttention) {
  const std::string page = "scripts/train/benchmarking/README.md ";
  const auto first = stated_script("llm-foundry", page + "2023-05-03 300cc5c58");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->attention, "triton");
  EXPECT_TRUE(first->container.empty());
  EXPECT_TRUE(stated_script("llm-foundry", page + "2023-10-19 b2a43a147"));
  EXPECT_FALSE(stated_script("llm-foundry", page + "2024-01-06 5e85bd62d"));
}

// recompute_modules of Megatron Bridge's presets.
TEST(StackDefaults, BridgesPresetsNameModules) {
  using enum RecomputeModule;
  const auto of = [](const char* model, const char* gpu, const char* dtype, const char* version) {
    return stated_modules("megatron-bridge", model, gpu, dtype, version);
  };
  EXPECT_EQ(of("deepseek-v3", "h100-sxm", "fp8", "25.09"), (std::vector{kMlaUpProj, kMlp}));
  EXPECT_EQ(of("deepseek-v3", "gb300", "mxfp8", "26.04"), std::vector{kMlaUpProj});
  EXPECT_TRUE(of("deepseek-v3", "gb300", "mxfp8", "26.06").empty());
  EXPECT_EQ(of("gpt-oss-120b", "gb200", "bf16", "26.04"),
            (std::vector{kLayerNorm, kMoeActivation}));
  EXPECT_TRUE(of("gpt-oss-120b", "b300-sxm", "bf16", "26.04").empty());
  EXPECT_TRUE(of("qwen3-235b-a22b", "gb200", "mxfp8", "26.04").empty());
  EXPECT_TRUE(stated_modules("torchtitan", "deepseek-v3", "h100-sxm", "fp8", "25.09").empty());
}

TEST(TrainingPrecision, FormatsOfTheTables) {
  const StackDefaults llmq = defaults_of("LLMQ (CUDA C++)", "2025", "fp8");
  EXPECT_EQ(training_precision("fp8", llmq).compute, Dtype::kFp8);
  EXPECT_FALSE(training_precision("fp8", llmq).master_weights);
  EXPECT_EQ(training_precision("nvfp4", {}).compute, Dtype::kFp4);
  EXPECT_THROW(training_precision("fp6", {}), InputError);
}

}  // namespace training_rows_test
}  // namespace orrery
