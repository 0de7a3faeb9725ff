// Utilisation of a service against counts by hand, and the kinds of layers that do the work.
#include "orrery/scenario/fleet/gpu_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/scenario/setup/layer_kinds.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace gpu_work_test {

// Steps of one engine over ten seconds, without a KV cache.
ReplicaCounts counts(std::int64_t steps, std::int64_t tokens) {
  ReplicaCounts c;
  c.steps = steps;
  c.output_tokens = tokens;
  c.busy = Seconds(10);
  return c;
}

GpuWork work(const std::string& model, const ParallelPlan& plan = {}) {
  const Architecture m = load_model(model);
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const MemoryModel memory(m, plan, {}, load_engine("vllm", Bundle()), gpu);
  return GpuWork(m, plan, {}, memory, gpu, 16);
}

// Llama-3.1-8B: 8.030e9 parameters in 16 bits; H100: 989 TFLOP/s, 3.35 TB/s.
TEST(GpuWork, OfADenseModelByHand) {
  const GpuWork w = work("llama-3.1-8b");
  EXPECT_NEAR(w.arithmetic(counts(1, 1000)).value(), 1000 * 2 * 8.030e9 / 989.4e12, 1e-5);
  EXPECT_NEAR(w.traffic(counts(100, 6400)).value(), 100 * 2 * 8.030e9 / 3.35e12, 1e-3);
  // 32 layers x 8 heads x 128 x 2 x 2 bytes a token, 16 a block: 50 blocks in use all the time.
  ReplicaCounts c = counts(100, 6400);
  c.used_block_seconds = 50 * 10;
  EXPECT_NEAR((w.traffic(c) - w.traffic(counts(100, 6400))).value(),
              100 * 50 * 16 * 131072.0 / 3.35e12, 1e-6);
  // A quarter of their tokens are not there yet.
  c.slack_token_seconds = 50 * 16 / 4 * 10;
  EXPECT_NEAR((w.traffic(c) - w.traffic(counts(100, 6400))).value(),
              100 * 50 * 12 * 131072.0 / 3.35e12, 1e-6);
  EXPECT_NEAR(work("llama-3.1-8b", {.tp = 2}).arithmetic(counts(1, 1000)).value(),
              w.arithmetic(counts(1, 1000)).value() / 2, 1e-9);
}

// 12 of 48 layers keep keys and values, 2 heads of 256: 24,576 bytes a token. The others' states
// are not a part of each block.
TEST(GpuWork, BlocksOfLinearAttentionHoldNoState) {
  const GpuWork w = work("qwen3-next-80b-a3b", {.tp = 4});
  ReplicaCounts c = counts(100, 6400);
  c.used_block_seconds = 50 * 10;
  EXPECT_NEAR((w.traffic(c) - w.traffic(counts(100, 6400))).value(),
              100 * 50 * 16 * 24576.0 / 2 / 3.35e12, 1e-6);
}

// Mixtral: 46.7e9 parameters, 12.9e9 of them for one token.
TEST(GpuWork, StepsReadTheExpertsThatTheirTokensMeet) {
  const GpuWork w = work("mixtral-8x7b", {.tp = 2});
  const double all = w.traffic(counts(1, 1000000)).value();
  EXPECT_NEAR(all, 46.7e9 / 3.35e12, 0.01 * all);
  EXPECT_NEAR(w.traffic(counts(1, 1)).value() / all, 12.9 / 46.7, 0.005);
  // Two of eight experts for each of two tokens: 1 - (3/4)^2 of them.
  const double two = (46.7 - 45.1 * 0.75 * 0.75) / 46.7;
  EXPECT_NEAR(w.traffic(counts(1, 2)).value() / all, two, 0.005);
}

TEST(GpuWork, ServicesStateItWithinTheirBusyTime) {
  Runner runner{Bundle()};
  const Answer a = runner.run(read_scenario(
      all_kinds(),
      parse_yaml(
          "{model: llama-3.1-8b, hardware: {gpu: h100-sxm}, load: {rate: [1, 4], requests: 100, "
          "isl: 512, osl: 128}}",
          "test.yaml")));
  ASSERT_EQ(a.points.size(), 2u);
  double before = 0;
  for (const Point& p : a.points) {
    const auto value = [&p](const char* name) {
      const auto m = std::find_if(p.metrics.begin(), p.metrics.end(),
                                  [&](const Metric& x) { return x.name == name; });
      EXPECT_NE(m, p.metrics.end()) << name;
      return m == p.metrics.end() ? 0 : m->value;
    };
    EXPECT_GT(value("mfu"), before);
    EXPECT_LT(value("mfu"), value("bandwidth_use"));
    EXPECT_LE(value("bandwidth_use"), value("busy"));
    before = value("mfu");
  }
}

TEST(LayerKinds, AreThoseOfTheModelsFamily) {
  using Kinds = std::vector<std::string>;
  const auto kinds_of = [](const char* model) { return layer_kinds(load_model(model, Bundle())); };
  EXPECT_EQ(kinds_of("llama-3-8b"), Kinds({"softmax"}));
  EXPECT_EQ(kinds_of("mixtral-8x7b"), Kinds({"experts", "softmax"}));
  EXPECT_EQ(kinds_of("deepseek-v3"), Kinds({"experts", "latent"}));
  EXPECT_EQ(kinds_of("qwen3-next-80b-a3b"), Kinds({"experts", "linear", "softmax"}));
}

}  // namespace gpu_work_test
}  // namespace orrery
