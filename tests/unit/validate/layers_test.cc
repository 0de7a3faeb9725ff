#include "orrery/validate/judge/layers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/validate/judge/steps.h"

namespace orrery {
namespace layers_test {

class Layers : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) / "orrery-layers-test";
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;  // tables are told by content: plain text will do
  }
  const ValidationRow& row(const ValidationReport& report, const std::string& name) {
    for (const ValidationRow& r : report.rows) {
      if (r.row == name) return r;
    }
    throw std::runtime_error("no row " + name);
  }

  std::filesystem::path dir_;
};

constexpr const char* kLayersHeader = "source,gpu,model,dtype,tp,layer,unit,count,time_us\n";
constexpr const char* kMixedHeader =
    "source,gpu,model,dtype,tp,prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";

TEST_F(Layers, PredictsTheProductThatALayerIs) {
  write("layers.csv.gz", std::string(kLayersHeader) +
                             "x,h100,llama-3-8b,bf16,1,gate_up_proj,tokens,4096,2400\n"
                             "x,h100,llama-3-8b,bf16,2,gate_up_proj,tokens,4096,1200\n"
                             "x,h100,llama-3-8b,bf16,1,coffee,tokens,1,1\n"
                             "x,h100,no-such-model,bf16,1,o_proj,tokens,1,1\n"
                             "x,h100,llama-3-8b,bf16,3,o_proj,tokens,1,1\n");
  const ValidationReport report = validate_layers(dir_, "", Bundle());
  ASSERT_EQ(report.rows.size(), 2u);
  // 4096 x 4096 x 28672 products, two FLOPs each, at 989 TFLOP/s.
  const double least = 4096.0 * 4096 * 28672 * 2 / 989e12 * 1e6;
  const ValidationRow& whole = row(report, "layers:2");
  EXPECT_GT(whole.predicted, least);
  EXPECT_LT(whole.predicted, 2 * least);
  EXPECT_LT(whole.low90, whole.predicted);
  EXPECT_GT(whole.high90, whole.predicted);
  EXPECT_NEAR(row(report, "layers:3").predicted, whole.predicted / 2, whole.predicted * 0.1);
  ASSERT_EQ(report.refused.size(), 3u);
  EXPECT_NE(report.refused[0].why.find("coffee"), std::string::npos);
  EXPECT_NE(report.refused[1].why.find("no-such-model"), std::string::npos);
}

TEST_F(Layers, AMixedCallIsTheSumAndMoreWhereTheKernelDoesNotSplit) {
  for (const char* gpu : {"h100", "a100-80g-sxm"}) {
    write("attention_mixed.csv.gz", std::string(kMixedHeader) + "x," + gpu +
                                        ",llama-3-8b,bf16,1,512,1024,0,0,1\nx," + gpu +
                                        ",llama-3-8b,bf16,1,0,0,32,4096,1\nx," + gpu +
                                        ",llama-3-8b,bf16,1,512,1024,32,4096,1\n");
    const ValidationReport report = validate_layers(dir_, "attention_mixed", Bundle());
    ASSERT_EQ(report.rows.size(), 3u);
    EXPECT_EQ(report.rows[2].by.at("metric"), "mixed");
    const double factor = std::string(gpu) == "h100" ? 1 : 2;  // square root of 4 heads a KV head
    EXPECT_NEAR(report.rows[2].predicted,
                report.rows[0].predicted + factor * report.rows[1].predicted,
                1e-6 * report.rows[2].predicted);
  }
}

TEST_F(Layers, AFolderWithoutTablesIsAnError) {
  EXPECT_THROW(validate_layers(dir_, "", Bundle()), InputError);
  EXPECT_THROW(validate_steps(dir_, "", Bundle()), InputError);
  EXPECT_THROW(validate_steps(dir_ / "nothing", "", Bundle()), InputError);
}

// 8 sequences decode for three seconds at 500 tokens a second: 16 ms a step. The first second
// computes prompts, so neither it nor the next is a row.
TEST_F(Layers, TakesSecondsThatOnlyDecode) {
  write("h100-sxm_x/config.json",
        R"({"engine_kwargs": {"model": "llama-3-8b", "tensor_parallel_size": 1,
            "max_num_batched_tokens": 8192, "max_num_seqs": 1024, "max_model_len": null}})");
  std::string requests =
      "id,arrival_s,input_toks,output_toks,queued_s,scheduled_s,first_token_s,last_token_s\n";
  for (int i = 0; i < 8; ++i) requests += std::to_string(i) + ",0,1000,200,0,0,0.5,4.5\n";
  write("h100-sxm_x/requests.csv.gz", requests);
  write("h100-sxm_x/timeseries.csv.gz",
        "t,prompt_throughput,gen_throughput,running\n"
        "1,8000,100,8\n2,0,500,8\n3,0,500,8\n4,0,500,8\n5,0,250,7\n");
  const ValidationReport report = validate_steps(dir_, "", Bundle());
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].row, "h100-sxm_x:3");
  EXPECT_DOUBLE_EQ(report.rows[0].measured, 16);
  // 15 GB of weights of the layers and the head at 3.35 TB/s.
  EXPECT_GT(report.rows[0].predicted, 4.4);
  EXPECT_LT(report.rows[0].predicted, 8);
  // The cache has grown.
  EXPECT_GT(report.rows[1].predicted, report.rows[0].predicted);
}

}  // namespace layers_test
}  // namespace orrery
