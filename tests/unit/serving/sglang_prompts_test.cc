// Does SGLang's scheduler fill steps with prompts as its PrefillAdder does
// (sglang/srt/managers/schedule_policy.py)?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "orrery/serving/cluster/simulation.h"
#include "tests/scheduler_keys.h"

namespace orrery {
namespace sglang_prompts_test {

using testing::ElementsAre;

class OneSecond : public StepTimer {
 public:
  SimTime time(const StepShape&) override { return sim_seconds(1); }
};

// The step that makes the first token of each of these prompts, which arrive at once; all steps
// take a second. max_prefill_tokens is 10.
std::vector<int> first_steps(const std::vector<int>& prompts, int output, bool mixed,
                             bool chunked) {
  SimulationConfig config;
  config.replica.engine.scheduler.policy = "sglang";
  config.replica.engine.scheduler.async_scheduling = false;
  config.replica.kv_blocks = 1000;
  set_keys(config.replica.engine.scheduler,
           fmt::format("{{max_prefill_tokens: 10, mixed_chunk: {}}}", mixed));
  config.replica.engine.scheduler.chunked_prefill = chunked;
  RequestLoad load;
  for (int tokens : prompts) {
    Request q;
    q.input = tokens;
    q.output = output;
    load.requests.push_back(q);
  }
  OneSecond timer;
  std::vector<int> steps;
  for (const RequestRecord& r : simulate(config, load, timer).records)
    steps.push_back(static_cast<int>(std::lround(r.ttft().value())));
  return steps;
}

// The first has a step of its own. 10, 6 and 2 tokens are left before the next three, nothing
// before the fifth.
TEST(SglangPrompts, AreTakenWhileAnythingIsLeft) {
  EXPECT_THAT(first_steps({4, 4, 4, 4, 4}, 1, false, true), ElementsAre(1, 2, 2, 2, 3));
}

// The fourth is not shorter than the 2 tokens that two others of 4 leave; the one of 12 is longer
// than all and goes alone.
TEST(SglangPrompts, WithoutChunksFitIntoWhatIsLeft) {
  EXPECT_THAT(first_steps({4, 4, 4, 4, 12, 1}, 1, false, false), ElementsAre(1, 2, 2, 3, 4, 5));
}

// Four decodes go with the third step, which leaves 6 of 10 tokens: 6 and 2 before its prompts.
TEST(SglangPrompts, ShareTheTokensWithMixedDecodes) {
  const std::vector<int> seven(7, 4);
  EXPECT_THAT(first_steps(seven, 9, true, true), ElementsAre(1, 2, 2, 2, 3, 3, 4));
  EXPECT_THAT(first_steps(seven, 9, false, true), ElementsAre(1, 2, 2, 2, 3, 3, 3));
}

}  // namespace sglang_prompts_test
}  // namespace orrery
