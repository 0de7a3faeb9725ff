#include "orrery/validate/fit/service_trust.h"

#include <gtest/gtest.h>

namespace orrery {
namespace service_trust_test {

MeasuredRow row(const char* engine, const char* model, const char* system, std::int64_t users) {
  MeasuredRow r;
  r.engine = engine, r.system = system;
  r.keys.set("model", model);
  r.keys.set("workload.batch", users);
  r.keys.set("workload.isl", 900);
  return r;
}

TEST(ServiceTrust, SystemsThatContradictOthersAreNotFitted) {
  EXPECT_FALSE(distrusted(row("sglang", "deepseek-r1", "b200-180gb", 64)));
  EXPECT_TRUE(distrusted(row("sglang", "deepseek-r1", "b300", 64)));
  EXPECT_FALSE(distrusted(row("sglang", "qwen3.5-397b-a17b", "b300", 64)));
  EXPECT_FALSE(distrusted(row("trtllm", "deepseek-r1", "b300", 64)));
  EXPECT_TRUE(distrusted(row("sglang", "llama-3.1-8b", "h200-sxm-141gb", 512)));
  EXPECT_FALSE(distrusted(row("vllm", "llama-3.1-8b", "h200-sxm-141gb", 512)));
}

// 64 prompts of 900 tokens are more than one step of 32,768; 32 are not.
TEST(ServiceTrust, ColdServersThatCompileInTheirFirstWaveAreNotFitted) {
  for (const std::int64_t users : {32, 64}) {
    MeasuredRow r = row("sglang", "deepseek-r1", "b200-180gb", users);
    r.keys.set_engine("scheduler.max_num_batched_tokens", "32768");
    EXPECT_FALSE(distrusted(r));
    r.keys.set_engine("execution.cold", "true");
    EXPECT_EQ(distrusted(r), users == 64);
  }
}

}  // namespace service_trust_test
}  // namespace orrery
