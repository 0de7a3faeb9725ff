// The clock's tables and its waves against the step room.
#include "orrery/serving/steps/step_clock.h"
#include "orrery/network/collectives/make_network.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace step_clock_test {

class Deployed {
 public:
  Deployed(const char* model, const char* gpu, const ParallelPlan& plan)
      : model_(load_model(model, Bundle())),
        plan_(plan),
        precision_(native_precision(model_)),
        engine_(load_engine("vllm", Bundle())),
        kernels_(make_kernel_model(Catalog().gpu(gpu), {}, Bundle())),
        network_(make_network_model(Cluster(Catalog(), Catalog().gpu(gpu), plan.devices(), ""),
                                    plan, "vllm", Bundle())),
        steps(model_, plan_, precision_, engine_, *kernels_, *network_) {}

  double seconds(const Batch& batch) const { return steps.time(batch).total.value.value(); }

 private:
  Architecture model_;
  ParallelPlan plan_;
  Precision precision_;
  EngineProfile engine_;
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;

 public:
  const StepModel steps;
};

StepShape decodes(std::int64_t n, std::int64_t past) {
  StepShape s;
  s.decodes = n;
  s.decode_past = past;
  return s;
}

TEST(StepClock, DecodeTablesAreWithinHalfAPercent) {
  const Deployed d("llama-3-8b", "h100-sxm", {});
  StepClock clock(d.steps);
  for (std::int64_t n : {1, 3, 17, 64, 255}) {
    for (std::int64_t past : {1, 100, 777, 1500, 3001, 30000}) {
      const double exact = d.seconds({{{n, 1, static_cast<double>(past)}}});
      EXPECT_NEAR(clock.time(decodes(n, n * past)).seconds() / exact, 1, 0.005) << n << " " << past;
    }
  }
}

TEST(StepClock, StepsThatFollowEachOtherTakeWhatEachTakes) {
  const Deployed d("llama-3-8b", "h100-sxm", {});
  StepClock together(d.steps, StepScale(1, 1.3)), one_by_one(d.steps, StepScale(1, 1.3));
  for (std::int64_t n : {1, 3, 17}) {
    for (std::int64_t past : {1, 3, 250, 4095}) {
      std::vector<SimTime> times(60);
      ASSERT_EQ(together.decode_times(n, n * past + n / 2, times), times.size());
      for (std::int64_t i = 0; i < 60; ++i) {
        EXPECT_EQ(times[static_cast<std::size_t>(i)],
                  one_by_one.time(decodes(n, n * (past + i) + n / 2)))
            << n << " " << past << " " << i;
      }
    }
  }
}

TEST(StepClock, MixedStepsAreAskedAsTheyAre) {
  const Deployed d("llama-3-8b", "h100-sxm", {});
  StepClock clock(d.steps, 2);  // twice as slow
  StepShape s = decodes(9, 9 * 700);
  const PromptChunk chunks[] = {{512, 0, true}, {1000, 333, false}};
  s.chunks = chunks;
  const double exact = d.seconds({{{1, 512, 0, true}, {1, 1000, 333, false}, {9, 1, 700, true}}});
  EXPECT_NEAR(clock.time(s).seconds(), 2 * exact, 1e-11);
}

// Answers that are kept are those of the same step, whatever was asked between.
TEST(StepClock, StepsWithOnePromptAreTheSameWhenAskedAgain) {
  const Deployed d("llama-3-8b", "h100-sxm", {});
  StepClock clock(d.steps);
  const auto at = [](StepClock& c, std::int32_t tokens, std::int32_t past, bool sampled,
                     std::int64_t decodes_past) {
    const PromptChunk chunk{tokens, past, sampled};
    StepShape s = decodes(7, decodes_past);
    s.chunks = {&chunk, 1};
    return c.time(s);
  };
  for (int round = 0; round < 2; ++round) {
    for (std::int32_t tokens : {100, 512}) {
      for (std::int32_t past : {0, 512}) {
        for (bool sampled : {false, true}) {
          for (std::int64_t others = 4000; others < 4100; others += 9) {
            StepClock fresh(d.steps);
            EXPECT_EQ(at(clock, tokens, past, sampled, others),
                      at(fresh, tokens, past, sampled, others));
          }
        }
      }
    }
  }
}

TEST(StepClock, StagesPaceAndAreAllPassed) {
  const Deployed whole("llama-3-8b", "h100-sxm", {});
  const Deployed d("llama-3-8b", "h100-sxm", {1, 4, 1, 1});
  StepClock clock(d.steps), alone(whole.steps);
  const StepShape s = decodes(64, 64 * 1024);
  EXPECT_GT(clock.latency(s), clock.time(s));
  EXPECT_LE(clock.latency(s).seconds(), 4 * clock.time(s).seconds() * 1.001);  // the slowest of 4
  EXPECT_GT(clock.latency(s), alone.time(s));  // messages between the stages
  EXPECT_LT(clock.time(s).seconds(), 0.5 * alone.time(s).seconds());
  EXPECT_EQ(alone.latency(s), alone.time(s));
}

// A wave of equal ranks is the step of the whole deployment; the experts of an uneven one have less
// to do than if all ranks were as busy, and more than for the busiest alone.
TEST(StepClock, WavesCountTheTokensOfAllRanks) {
  const Deployed d("deepseek-v3", "h200-sxm", {1, 1, 8, 8});
  StepClock clock(d.steps);
  EXPECT_NEAR(clock.time(decodes(16, 16 * 1024)).seconds() / d.seconds({{{128, 1, 1024}}}), 1,
              0.005);
  const PromptChunk chunk{2048};
  StepShape s;
  s.chunks = {&chunk, 1};
  const auto at = [&](std::int64_t wave_tokens) {
    s.wave_tokens = wave_tokens;
    return clock.time(s).seconds();
  };
  EXPECT_NEAR(at(8 * 2048), d.seconds({{{8, 2048, 0}}}), 1e-11);
  EXPECT_NEAR(at(0), at(8 * 2048), 1e-11);  // nothing said: all ranks alike
  EXPECT_LT(at(2048 + 7), at(4 * 2048));
  EXPECT_LT(at(4 * 2048), at(8 * 2048));
}

}  // namespace step_clock_test
}  // namespace orrery
