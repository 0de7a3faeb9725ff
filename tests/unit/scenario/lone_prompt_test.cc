// Is the TTFT of one short prompt on an idle service plausible, although the engines' constants are
// fitted on loaded services?
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace lone_prompt_test {

struct Lone {
  double ttft = 0, prefill = 0;  // ms
};

Lone lone(const std::string& engine, const std::string& gpu, const std::string& model, int tp,
          int isl, bool simulated = false) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = options.breakdown = false;
  const std::string load =
      simulated
          ? fmt::format("load: {{requests: 3, arrivals: even, rate: 0.1, isl: {}, osl: 8}}\n", isl)
          : fmt::format("workload: {{isl: {}, osl: 8, batch: 1}}\n", isl);
  const ScenarioSweep s = read_scenario(
      all_kinds(),
      parse_yaml(
          fmt::format(
              "model: {}\nhardware: {{gpu: {}}}\nengine: {{profile: {}}}\nparallel: {{tp: {}}}\n{}",
              model, gpu, engine, tp, load),
          "s.yaml"));
  const Point p = runner.run(s, options).points.at(0);
  const Metric *ttft = p.find("ttft"), *prefill = p.find("prefill_time");
  return {ttft->value, prefill ? prefill->value : 0};
}

constexpr const char* kEngines[] = {"vllm", "sglang", "trtllm"};
constexpr const char* kGpus[] = {"h100-sxm", "h200", "b200"};

// Nothing waits before it: the front end and the text cost milliseconds.
TEST(LonePrompt, WaitsForItsStepAndMilliseconds) {
  for (const std::string engine : kEngines) {
    for (const std::string gpu : kGpus) {
      for (int isl : {16, 128, 512}) {
        const Lone l = lone(engine, gpu, "llama-3.1-8b", 1, isl);
        EXPECT_LE(l.ttft, l.prefill + 5) << engine << " " << gpu << " " << isl;
        EXPECT_NEAR(lone(engine, gpu, "llama-3.1-8b", 1, isl, true).ttft, l.ttft, 0.05 * l.ttft)
            << engine << " " << gpu << " " << isl;
      }
    }
  }
}

// Prompts of 128 tokens under TensorRT-LLM 0.8 and 0.9 on H200 (data/inference/single_request,
// trtllm-first-token; fp8, here bf16): at most twice as long and 10 ms, on Blackwell too.
TEST(LonePrompt, IsNoSlowerThanMeasuredYearsAgo) {
  struct Measured {
    const char* model;
    int tp;
    double ms;
  };
  for (const auto& [model, tp, ms] :
       {Measured{"llama-2-7b", 1, 5.7}, Measured{"mistral-7b", 1, 6.5},
        Measured{"llama-2-70b", 4, 17.8}, Measured{"llama-2-70b", 8, 16.0}}) {
    for (const std::string engine : kEngines) {
      for (const std::string gpu : kGpus) {
        EXPECT_LE(lone(engine, gpu, model, tp, 128).ttft, 2 * ms + 10)
            << engine << " " << gpu << " " << model << " tp " << tp;
      }
    }
  }
}

}  // namespace lone_prompt_test
}  // namespace orrery
