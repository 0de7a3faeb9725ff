// Rows of a made-up table in the columns of mlperf_training.csv.
#include "orrery/validate/rows/mlperf_rows.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace orrery {
namespace mlperf_rows_test {

using Fields = std::map<std::string, std::string>;

class MlperfRows : public testing::Test {
 protected:
  MlperfRows() {
    std::filesystem::create_directories(dir_);
    std::ofstream(dir_ / "models.csv")
        << "model,family,layers,hidden,heads,kv_heads,head_dim,ffn,gated,vocab,tied_embeddings,"
           "learned_positions,attention,q_lora,kv_lora,qk_nope_dim,qk_rope_dim,v_dim,n_experts,"
           "top_k,moe_ffn,n_shared_experts,shared_ffn,dense_layers\n"
           "llama-2-70b,llama2,80,8192,64,8,128,28672,1,32000,0,0,gqa,,,,,,,,,,,\n";
  }
  ~MlperfRows() override { std::filesystem::remove_all(dir_); }

  TrainingRow read(Fields fields) {
    const Fields usual = {{"submitter", "s"},
                          {"model", "llama-2-70b"},
                          {"gpu", "h100_sxm"},
                          {"n_gpus", "8"},
                          {"dtype", "fp8|nvfp4"},
                          {"seq_len", "8192"},
                          {"global_batch", "8"},
                          {"tp", "4"},
                          {"pp", "1"},
                          {"step_s", "3.5"},
                          {"step_source", "logged throughput"},
                          {"finetune", "lora"},
                          {"lora_rank", "16"}};
    fields.insert(usual.begin(), usual.end());
    const std::vector<std::string> columns = {"round",
                                              "submitter",
                                              "system",
                                              "model",
                                              "finetune",
                                              "lora_rank",
                                              "gpu",
                                              "gpus_per_node",
                                              "n_gpus",
                                              "network",
                                              "framework",
                                              "dtype",
                                              "seq_len",
                                              "global_batch",
                                              "micro_batch",
                                              "grad_accum",
                                              "tp",
                                              "pp",
                                              "vp",
                                              "cp",
                                              "recompute",
                                              "fp8_params",
                                              "tp_comm_overlap",
                                              "step_s",
                                              "step_source"};
    std::ofstream csv(dir_ / "mlperf_training.csv");
    for (std::size_t i = 0; i < columns.size(); ++i) csv << (i ? "," : "") << columns[i];
    csv << "\n";
    for (std::size_t i = 0; i < columns.size(); ++i)
      csv << (i ? "," : "") << '"' << fields[columns[i]] << '"';
    csv << "\n";
    csv.close();
    return read_mlperf_rows(dir_, Catalog()).at(0);
  }

  std::filesystem::path dir_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("mlperf_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(MlperfRows, ASubmissionIsAJob) {
  const TrainingRow r = read({{"micro_batch", "1"}, {"recompute", "full block 21 layers"}});
  ASSERT_EQ(r.refused, "");
  EXPECT_EQ(r.job.plan.dp, 2);
  EXPECT_EQ(r.job.micro_batches(), 4);
  EXPECT_EQ(r.job.precision.compute, Dtype::kFp8);
  EXPECT_TRUE(r.job.precision.fp8_parameters);
  EXPECT_FALSE(read({{"dtype", "bf16"}}).job.precision.fp8_parameters);
  EXPECT_EQ(r.job.tuning, Tuning::kLora);
  EXPECT_EQ(r.job.lora_targets, (std::vector<std::string>{"q", "k", "v", "o"}));
  EXPECT_EQ(r.job.recompute_layers, 21);
  EXPECT_EQ(*r.iteration, Seconds(3.5));
}

TEST_F(MlperfRows, WhatCannotBeJudgedIsRefused) {
  EXPECT_NE(read({{"tp", ""}}).refused.find("layout"), std::string::npos);
  EXPECT_NE(read({{"step_s", ""}}).refused.find("step"), std::string::npos);
  EXPECT_NE(read({{"step_source", "intervals, evaluation inside them"}}).refused.find("evaluation"),
            std::string::npos);
  EXPECT_NE(read({{"gpu", "voodoo2"}}).refused, "");
  EXPECT_NE(read({{"tp", "3"}}).refused, "");
}

}  // namespace mlperf_rows_test
}  // namespace orrery
