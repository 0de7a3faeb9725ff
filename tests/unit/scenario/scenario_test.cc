#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/kinds/service/service_question.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/refusal.h"

namespace orrery {
namespace scenario_test {

constexpr const char* kLeast = "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n";

ScenarioSweep read(const std::string& yaml) {
  return read_scenario(all_kinds(), parse_yaml(yaml, "s.yaml"));
}

std::string refusal(const std::string& yaml) {
  return refusal_of([&] { read(yaml); });
}

TEST(Scenario, DefaultsAreOneRequestOnOneGpu) {
  const ScenarioSweep sweep = read(kLeast);
  ASSERT_EQ(sweep.points.size(), 1u);
  const Scenario& s = sweep.points[0];
  EXPECT_EQ(s.parallel.tp, 1);
  EXPECT_EQ(s.as<SteadyQuestion>().batch, 1);
  EXPECT_EQ(s.engine.profile, "vllm");
  EXPECT_EQ(s.model_overrides.kv_heads, 0);
}

TEST(Scenario, TakesVllmNames) {
  const ScenarioSweep sweep =
      read(std::string(kLeast) +
           "parallel: {tensor_parallel_size: 4, pipeline-parallel-size: 2}\n"
           "workload: {input_len: 64, concurrency: 1-4*2, max-model-len: 2048}\n"
           "precision: {dtype: bfloat16, quantization: awq, kv_cache_dtype: auto}\n");
  ASSERT_EQ(sweep.points.size(), 3u);
  const Scenario& s = sweep.points[2];
  EXPECT_EQ(s.parallel.tp, 4);
  EXPECT_EQ(s.parallel.pp, 2);
  EXPECT_EQ(s.as<SteadyQuestion>().isl, 64);
  EXPECT_EQ(s.as<SteadyQuestion>().batch, 4);
  EXPECT_EQ(s.workload.max_model_len, 2048);
  EXPECT_EQ(s.precision.quantization, "awq");
}

TEST(Scenario, RefusalsNameThePlaceAndTheNearest) {
  EXPECT_EQ(refusal(std::string(kLeast) + "workload:\n  bacth: 1\n"),
            "s.yaml:4: workload.bacth: unknown key (did you mean 'batch'?)");
  EXPECT_NE(refusal("hardware: {gpu: h100-sxm}\n").find("'model' is missing"), std::string::npos);
  EXPECT_NE(refusal("model: x\nhardware: {}\n").find("'gpu' is missing"), std::string::npos);
  const std::string format = refusal(std::string(kLeast) + "precision: {quantization: fp9}\n");
  EXPECT_NE(format.find("s.yaml:3: precision.quantization: expected one of"), std::string::npos)
      << format;
  EXPECT_NE(format.find("did you mean 'fp8'?"), std::string::npos) << format;
  // Only formats that an engine can hold activations or a cache in.
  EXPECT_NE(refusal(std::string(kLeast) + "precision: {dtype: fp8}\n"), "");
  EXPECT_NE(refusal(std::string(kLeast) + "precision: {kv_cache_dtype: tf32}\n"), "");
  EXPECT_NE(refusal(std::string(kLeast) + "workload: {isl: 8, input_len: 9}\n").find("already"),
            std::string::npos);
}

TEST(Scenario, WritesWhatItReads) {
  const ScenarioSweep s =
      read(std::string(kLeast) +
           "workload: {isl: [16, 32], expert_skew: 0.5}\nmodel_overrides: {kv_heads: 4}\n");
  const auto j = to_json(s);
  EXPECT_EQ(j["workload"]["isl"], (std::vector<int>{16, 32}));
  EXPECT_EQ(j["model_overrides"]["kv_heads"], 4);
  EXPECT_EQ(to_json(read_scenario(all_kinds(), parse_json(j.dump(), "again.json"))).dump(),
            j.dump());
}

TEST(Scenario, ASuiteIsNone) {
  EXPECT_NE(refusal("suite: techniques\nquestions: []\n").find("orrery suite run"),
            std::string::npos);
}

TEST(Scenario, ALoadIsSimulated) {
  const ScenarioSweep s = read(std::string(kLeast) +
                               "load: {rate: [2, 4.5], isl: 'uniform(10, 20)', arrivals: gamma}\n"
                               "slo: {ttft: 500 ms}\n");
  ASSERT_EQ(s.points.size(), 2u);
  EXPECT_EQ(s.points[0].as<ServiceQuestion>().rate, 2);
  EXPECT_EQ(s.points[1].as<ServiceQuestion>().rate, 4.5);
  const auto j = to_json(s);
  EXPECT_FALSE(j["workload"].contains("isl"));
  EXPECT_EQ(to_json(read_scenario(all_kinds(), parse_json(j.dump(), "again.json"))).dump(),
            j.dump());
}

TEST(Scenario, ALoadAndAWorkloadContradict) {
  EXPECT_THROW(read(std::string(kLeast) + "load: {rate: 2}\nworkload: {isl: 100}\n"), InputError);
  EXPECT_THROW(read(std::string(kLeast) + "load: {isl: 'normal(3, 4)'}\n"), InputError);
  EXPECT_THROW(read(std::string(kLeast) + "load: {rate: [0]}\n"), InputError);
  EXPECT_THROW(read(std::string(kLeast) + "load: {arrivals: poison}\n"), InputError);
}

}  // namespace scenario_test
}  // namespace orrery
