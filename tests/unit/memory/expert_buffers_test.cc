#include "orrery/memory/expert_buffers.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace expert_buffers_test {

// 4 buffers of 128 messages for each of 288 copies: a row of 7168 in 16 bits, and 4 bytes for each
// of its 56 blocks.
TEST(ExpertBuffers, HoldAMessageForEveryTokenAndCopy) {
  const Architecture model = load_model("deepseek-v3");
  ParallelPlan plan{.dp = 72, .ep = 72};
  plan.experts.redundant = 32;
  EXPECT_EQ(expert_buffers(model, plan), Bytes(4 * 128 * 288 * (7168 * 2.0 + 56 * 4)));
  plan.experts.mode = DeepEpMode::kNormal;
  EXPECT_EQ(expert_buffers(model, plan), Bytes(0));
  EXPECT_EQ(expert_buffers(model, {.dp = 8, .ep = 8}), Bytes(0));
  EXPECT_EQ(expert_buffers(load_model("llama-3-8b"), {.dp = 16}), Bytes(0));
}

}  // namespace expert_buffers_test
}  // namespace orrery
