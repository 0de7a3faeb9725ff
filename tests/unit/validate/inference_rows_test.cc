#include "orrery/validate/rows/inference_rows.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/inferencex.h"

namespace orrery {
namespace inference_rows_test {

class Rows : public testing::Test {
 protected:
  void write(const std::string& table, const std::string& text) const {
    std::ofstream(dir / (table + ".csv")) << text;
  }
  void SetUp() override {
    dir = std::filesystem::temp_directory_path() / ("orrery-rows-" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir);
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  std::filesystem::path dir;
  Catalog catalog;
  std::vector<MeasuredRow> rows;
  std::vector<RefusedRow> refused;
};

constexpr const char* kSingle =
    "source,model,family,precision,system,n_gpus,framework,version,tp,pp,batch,isl,osl,prefill_ms,"
    "tpot_ms,suspect,note,source_ref,group\n";

TEST_F(Rows, ReadsASingleRequest) {
  write("single_request", std::string(kSingle) +
                              "splitwise-sim,llama-2-70b,dense-gqa,fp16,h100-sxm-80gb,8,vllm,?,8,1,"
                              "2,512,128,77,30,,,ref1,g\n");
  read_inference_rows(dir, "single_request", catalog, rows, refused);
  ASSERT_EQ(rows.size(), 1u);
  const MeasuredRow& r = rows[0];
  EXPECT_EQ(r.engine, "vllm-2023");
  EXPECT_EQ(r.keys.text("hardware.gpu"), "h100-sxm");
  EXPECT_EQ(r.keys.number("parallel.tp"), 8);
  EXPECT_EQ(r.keys.number("workload.batch"), 2);
  EXPECT_FALSE(r.is_closed_loop());
  ASSERT_EQ(r.figures.size(), 2u);
  EXPECT_EQ(r.figures[0].metric, "prefill");
  EXPECT_EQ(r.figures[0].value, 77);
  EXPECT_EQ(r.figures[1].answer_name, "tpot");
}

// A row without a day was measured when the others of its engine and model were first.
TEST_F(Rows, WithoutADayTakeTheFirst) {
  const std::string row = ",moe-mla,int4,h200-sxm-141gb,8,vllm,0.16,agg,1024,1024,nominal,4,8,1,";
  write("serving_steady",
        "source,model,family,precision,system,n_gpus,framework,version,mode,isl,osl,length_kind,"
        "concurrency,tp,pp,ttft_ms,tpot_ms,suspect,measured,source_ref,group\n"
        "s,kimi-k2.5" +
            row +
            "120,10,,2026-03-27,ref1,g\n"
            "s,kimi-k2.5" +
            row +
            "120,10,,2025-11-02,ref2,g\n"
            "s,kimi-k2.5" +
            row +
            "120,10,,,ref3,g\n"
            "s,deepseek-r1" +
            row + "120,10,,,ref4,g\n");
  read_inference_rows(dir, "serving_steady", catalog, rows, refused);
  ASSERT_EQ(rows.size(), 4u) << (refused.empty() ? "" : refused[0].why);
  const auto cold = [&](std::size_t i) {
    return rows[i].keys.engine_text("execution.cold") == "true";
  };
  EXPECT_FALSE(cold(0));
  EXPECT_TRUE(cold(1));
  EXPECT_TRUE(cold(2));
  EXPECT_FALSE(cold(3));
}

TEST_F(Rows, TheSameQuestionHasTheSameText) {
  const std::string same = ",llama-2-70b,dense-gqa,fp16,h100-sxm-80gb,8,vllm,?,8,1,2,512,128,";
  write("single_request",
        std::string(kSingle) + "splitwise-sim" + same + "77,30,,,ref1,g\nsplitwise-sim" + same +
            "70,28,,,ref2,g\nsplitwise-sim,llama-2-70b,dense-gqa,fp16,h100-sxm-80gb,8,vllm,?,8,1,"
            "4,512,128,77,30,,,ref3,g\n");
  read_inference_rows(dir, "single_request", catalog, rows, refused);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].keys.yaml(), rows[1].keys.yaml());
  EXPECT_NE(rows[0].keys.yaml(), rows[2].keys.yaml());
  EXPECT_EQ(rows[0].keys.yaml(),
            "{model: llama-2-70b, hardware: {gpu: h100-sxm}, engine: {profile: vllm-2023, setup: "
            "default}, "
            "precision: {dtype: fp16, quantization: fp16}, parallel: {tp: 8, pp: 1}, "
            "workload: {batch: 2, isl: 512, osl: 128}}");
  EXPECT_EQ(rows[0].source, "splitwise-sim");
}

TEST_F(Rows, LeavesSuspectsOutAndRefusesWithAReason) {
  write("single_request",
        std::string(kSingle) +
            "x,llama-2-7b,dense,fp16,h100-sxm-80gb,1,vllm,0.9,1,1,1,128,128,,8,far_below,,ref1,g\n"
            "x,llama-2-7b,dense,fp16,no-such-chip,1,vllm,0.9,1,1,1,128,128,,8,,,ref2,g\n"
            "x,llama-2-7b,dense,fp16,h100-sxm-80gb,1,onnx,1,1,1,1,128,128,,8,,,ref3,g\n");
  read_inference_rows(dir, "single_request", catalog, rows, refused);
  EXPECT_TRUE(rows.empty());
  ASSERT_EQ(refused.size(), 3u);
  EXPECT_EQ(refused[0].why, "marked suspect by the data set: far_below");
  EXPECT_EQ(refused[1].row, "single_request:3 ref2");
  EXPECT_NE(refused[1].why.find("no-such-chip"), std::string::npos);
  EXPECT_NE(refused[2].why.find("onnx"), std::string::npos);
}

TEST_F(Rows, LlamaCppSplitsByLayersAndStatesItsPromptChunk) {
  write("offline_throughput",
        "source,model,family,precision,system,n_gpus,framework,version,scenario,tp,pp,batch,isl,"
        "osl,output_tok_s,suspect,note,source_ref,group\n"
        "a,llama-2-7b,dense,fp16,a100-sxm-40gb,4,llama.cpp,mid-2024,static "
        "batch,,,1,128,128,50,,\"file column Batch Size 16 is the prompt chunk\",r,g\n"
        "a,llama-2-7b,dense,fp16,a100-sxm-40gb,4,vllm,1,saturated,1,1,1,128,128,50,,,r2,g\n");
  read_inference_rows(dir, "offline_throughput", catalog, rows, refused);
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(refused.size(), 1u);  // saturated rows are no fixed batch
  EXPECT_EQ(rows[0].keys.number("parallel.pp"), 4);
  EXPECT_EQ(rows[0].keys.engine_text("scheduler.max_num_batched_tokens"), "16");
}

TEST(Engines, ByFrameworkVersionAndMaker) {
  const Catalog catalog;
  const Gpu h100 = catalog.gpu("h100-sxm"), mi300 = catalog.gpu("mi300x");
  EXPECT_EQ(engine_of_row("vllm", "0.19.0", "", h100), "vllm");
  EXPECT_EQ(engine_of_row("vllm", "0.8.5", "", h100), "vllm-2025");
  EXPECT_EQ(engine_of_row("vllm", "0.5.1", "", h100), "vllm-2024");
  EXPECT_EQ(engine_of_row("vllm", "mid-2024 (not stated)", "", mi300), "vllm-2024-rocm");
  EXPECT_EQ(engine_of_row("trtllm", "0.9.0/tensorrt", "", h100), "trtllm-2024");
  EXPECT_EQ(engine_of_row("trtllm", "1.2.0rc6", "", h100), "trtllm");
  EXPECT_THROW(engine_of_row("sambaflow", "", "", h100), NoData);
}

// Servers are started with the flags of InferenceX's scripts on the day of the measurement.
TEST(InferenceX, ServersAreStartedAsOnTheDay) {
  const Catalog catalog;
  const auto started = [&](const char* model, const char* gpu, const char* precision,
                           const char* day, const char* engine = "vllm") {
    ScenarioKeys keys;
    keys.set("model", model);
    keys.set("parallel.tp", 4);
    keys.set("workload.batch", 64);
    keys.set("precision.kv_cache_dtype", "fp8");
    set_as_inferencex(engine, catalog.gpu(gpu), {precision, day, 1024, 1024}, keys);
    return keys;
  };
  const ScenarioKeys early = started("minimax-m2.5", "b200-sxm", "fp8", "2026-03-28");
  EXPECT_EQ(early.number("parallel.ep"), 4);
  EXPECT_EQ(early.text("precision.kv_cache_dtype"), "");
  EXPECT_EQ(early.engine_text("scheduler.max_num_batched_tokens"), "");
  const ScenarioKeys late = started("minimax-m2.5", "b200-sxm", "fp8", "2026-04-22");
  EXPECT_EQ(late.number("parallel.ep"), 1);
  EXPECT_EQ(late.text("precision.kv_cache_dtype"), "fp8");
  EXPECT_EQ(late.engine_text("scheduler.max_num_batched_tokens"), "2048");
  EXPECT_EQ(late.engine_text("kernels.tf32"), "true");
  const ScenarioKeys between = started("minimax-m2.5", "b200-sxm", "fp8", "2026-04-08");
  EXPECT_EQ(between.engine_text("kernels.tf32"), "");
  // No day, or a script that is not known: the engine's defaults.
  EXPECT_EQ(
      started("kimi-k2.5", "b200-sxm", "fp4", "").engine_text("scheduler.max_num_batched_tokens"),
      "");
  EXPECT_EQ(started("minimax-m2.5", "b300-sxm", "fp8", "2026-04-03")
                .engine_text("scheduler.max_num_batched_tokens"),
            "");
  EXPECT_EQ(started("deepseek-r1", "h200-sxm", "fp8", "2025-12-15", "trtllm")
                .engine_text("scheduler.max_num_batched_tokens"),
            "4096");
  // As many sequences as users.
  EXPECT_EQ(
      started("kimi-k2.5", "h200-sxm", "int4", "2026-03-27").engine_text("scheduler.max_num_seqs"),
      "64");
  EXPECT_EQ(late.engine_text("scheduler.max_num_seqs"), "");
  // Warm-up requests since the end of January.
  const auto cold = [&](const char* model, const char* gpu, const char* day) {
    return started(model, gpu, "fp8", day).engine_text("execution.cold") == "true";
  };
  EXPECT_TRUE(cold("llama-3.1-70b", "b200-sxm", "2025-10-29"));
  EXPECT_FALSE(cold("gpt-oss-120b", "b200-sxm", "2026-02-25"));
  EXPECT_FALSE(cold("llama-3.1-8b", "h200-sxm", ""));
}

// llama-config.yml of 70b_fp8_h200_trt_slurm.sh: --max_num_tokens is the model's length, and only
// short prompts and answers on fewer than 8 GPUs wait for others.
TEST(InferenceX, PromptsOfTensorRtLlmWaitForOthers) {
  const auto started = [](int tp, std::int64_t isl, std::int64_t osl) {
    ScenarioKeys keys;
    keys.set("model", "llama-3.1-70b");
    keys.set("parallel.tp", tp);
    keys.set("workload.batch", 64);
    set_as_inferencex("trtllm", Catalog().gpu("h200"), {"fp8", "2025-10-29", isl, osl}, keys);
    return keys;
  };
  const ScenarioKeys waits = started(4, 1024, 1024);
  EXPECT_EQ(waits.engine_text("scheduler.batch_wait_steps"), "20");
  EXPECT_EQ(waits.engine_text("scheduler.batch_wait_ratio"), "0.9");
  EXPECT_EQ(waits.engine_text("scheduler.max_num_batched_tokens"), "2048");
  EXPECT_EQ(waits.engine_text("scheduler.chunked_prefill"), "false");
  EXPECT_EQ(waits.text("precision.kv_cache_dtype"), "fp8");
  EXPECT_EQ(started(8, 1024, 1024).engine_text("scheduler.batch_wait_steps"), "");
  EXPECT_EQ(started(4, 8192, 1024).engine_text("scheduler.batch_wait_steps"), "");
}

constexpr const char* kSteady =
    "source,model,family,precision,system,framework,version,mode,isl,osl,length_kind,concurrency,"
    "tp,pp,ttft_ms,tpot_ms,suspect,dump,source_ref,group\n";

// Runs of AIConfigurator's authors: equal lengths, the steps of its generator, and, under vLLM, the
// 100 prompts of AIPerf again and again.
TEST_F(Rows, AiconfiguratorsOwnRunsAreStartedByItsGenerator) {
  write("serving_steady",
        std::string(kSteady) +
            "a,llama-3.1-8b,dense-gqa,fp8,h200-sxm-141gb,vllm,0.12.0,agg,4000,500,nominal,96,1,1,"
            "120,17,,gap-analysis,ref1,g\n"
            "a,qwen3-235b-a22b,moe-gqa,fp8,h100-sxm-80gb,trtllm,1.0.0rc3,agg,512,128,nominal,32,4,"
            "1,234,26,,gap-analysis,ref2,g\n"
            "a,gpt-oss-120b,moe-gqa,fp4,h200-sxm-141gb,trtllm,1.0,agg,1024,8192,nominal,32,4,1,"
            "234,26,,gap-analysis,ref3,g\n");
  read_inference_rows(dir, "serving_steady", catalog, rows, refused);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].prompt_pool, 100);
  // InferenceX's, repeated there: lengths scatter about nine tenths of the nominal ones.
  EXPECT_EQ(simulated_service(rows[2]).text("load.isl"), "uniform(819, 1023)");
  const ScenarioKeys vllm = simulated_service(rows[0]), trtllm = simulated_service(rows[1]);
  EXPECT_EQ(vllm.text("load.isl"), "4000");
  EXPECT_EQ(vllm.number("load.shared_prefix"), 3999);
  EXPECT_EQ(vllm.number("load.prefix_groups"), 100);
  EXPECT_EQ(vllm.number("load.warmup"), 2 * 96);
  EXPECT_EQ(vllm.number("load.requests"), 12 * 96);
  EXPECT_EQ(trtllm.text("load.prefix_groups"), "");
  EXPECT_EQ(trtllm.number("load.requests"), 10 * 32);
  EXPECT_EQ(trtllm.engine_text("scheduler.max_num_batched_tokens"), "2044");  // 32 + 512 + 1,500
  EXPECT_EQ(trtllm.engine_text("scheduler.chunked_prefill"), "false");
}

// SGLang's scripts: a KV cache of fp8 on Blackwell, but for models in bf16.
TEST(InferenceX, SglangKeepsAnEightBitCacheOnBlackwell) {
  const Catalog catalog;
  const auto started = [&](const char* model, const char* gpu, const char* precision) {
    ScenarioKeys keys;
    keys.set("model", model);
    keys.set("parallel.tp", 8);
    keys.set("workload.batch", 64);
    set_as_inferencex("sglang", catalog.gpu(gpu), {precision, "2026-03-25", 1024}, keys);
    return keys;
  };
  EXPECT_EQ(started("deepseek-r1", "b200-sxm", "fp4").text("precision.kv_cache_dtype"), "fp8");
  EXPECT_EQ(started("qwen3.5-397b-a17b", "b200-sxm", "bf16").text("precision.kv_cache_dtype"), "");
  EXPECT_EQ(started("deepseek-r1", "h200-sxm", "fp8").text("precision.kv_cache_dtype"), "");
  EXPECT_EQ(started("glm-5", "b200-sxm", "fp4").engine_text("scheduler.recv_interval"), "10");
  const ScenarioKeys own_client = started("glm-5", "h200-sxm", "fp8");
  EXPECT_EQ(own_client.number("workload.requests_per_user"), 5);
  EXPECT_EQ(own_client.engine_text("execution.cold"), "true");
}

// Warm-ups of copies of one prompt leave SGLang the shapes of the others; before there were any,
// its images also compiled the kernel of continued prompts.
TEST(InferenceX, SglangMeetsNewShapesInItsFirstWave) {
  const Catalog catalog;
  const auto started = [&](const char* engine, const char* day) {
    ScenarioKeys keys;
    keys.set("model", "deepseek-r1");
    keys.set("parallel.tp", 8);
    keys.set("workload.batch", 64);
    set_as_inferencex(engine, catalog.gpu("b200-sxm"), {"fp8", day, 1024}, keys);
    return keys;
  };
  const ScenarioKeys warmed = started("sglang", "2026-03-25"),
                     cold = started("sglang", "2025-11-18");
  EXPECT_EQ(warmed.engine_text("execution.new_shapes"), "true");
  EXPECT_EQ(warmed.engine_text("execution.continued_start_up"), "");
  EXPECT_EQ(cold.engine_text("execution.new_shapes"), "");
  EXPECT_EQ(cold.engine_text("execution.continued_start_up"), "20 s");
  EXPECT_EQ(started("trtllm", "2026-03-25").engine_text("execution.new_shapes"), "");
}

// AIConfigurator's generator starts SGLang 0.5.6.post2 with mixed chunks and prompts of ISL + 1,500
// tokens a step (rule_plugin/sglang.rule).
TEST(InferenceX, OwnRunsOfSglangMixChunks) {
  ScenarioKeys keys;
  keys.set("workload.isl", 2000);
  keys.set("workload.batch", 80);
  EXPECT_EQ(set_as_aiconfigurator("sglang", keys), 0);
  EXPECT_EQ(keys.engine_text("scheduler.mixed_chunk"), "true");
  EXPECT_EQ(keys.engine_text("scheduler.max_prefill_tokens"), "3500");
  EXPECT_EQ(keys.engine_text("scheduler.max_num_seqs"), "80");
}

TEST(Split, TwoThirdsOfTheGroupsFit) {
  int fit = 0;
  for (int i = 0; i < 3000; ++i) fit += fits_engines("group " + std::to_string(i)) ? 1 : 0;
  EXPECT_NEAR(fit, 2000, 120);
}

}  // namespace inference_rows_test
}  // namespace orrery
