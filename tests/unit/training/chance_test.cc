#include "orrery/training/chance/chance.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <array>
#include <cmath>
#include <limits>

#include "orrery/base/error.h"

namespace orrery {
namespace chance_test {

// Llama 3 405B's 54 days on 16,384 GPUs.
ChanceQuestion llama() {
  ChanceQuestion q;
  q.iteration = Seconds(5);
  q.iterations = 800'000;
  q.gpus = 16384;
  q.variability = {0.02, 0.01};
  q.failures_per_gpu_day = kLlama3FailuresPerGpuDay;
  q.checkpoint_write = Seconds(10);
  q.restart = Seconds(300);
  return q;
}

TEST(Stragglers, OneRankIsTheMedianRank) {
  EXPECT_DOUBLE_EQ(slowest_quantile(1, 0.1, 0.5), 1);
  EXPECT_NEAR(slowest_mean(1, 0.1), std::exp(0.005), 1e-8);  // a log-normal's mean
  EXPECT_EQ(slowest_mean(1000, 0), 1);
}

// The chance that all of two are below the median is a quarter; of 16,384 ranks all are below
// 4.08 deviations with chance 0.69 = (1 - 2.25e-5)^16384.
TEST(Stragglers, QuantilesOfTheSlowest) {
  EXPECT_NEAR(slowest_quantile(2, 0.1, 0.25), 1, 1e-9);
  EXPECT_NEAR(slowest_quantile(16384, 0.05, std::pow(1 - 2.2518e-5, 16384)), std::exp(0.05 * 4.08),
              1e-5);
}

TEST(Stragglers, OperationsAverageOut) {
  // Two halves of the time, of 100 and one call, 10 % between calls and 4 % between GPUs each.
  const std::array<OpVariability, 2> ops = {{{0.5, 100, {0.04, 0.1}}, {0.5, 1, {0.04, 0.1}}}};
  const Variability v = combined(ops);
  EXPECT_DOUBLE_EQ(v.gpu, std::sqrt(2 * 0.02 * 0.02));
  EXPECT_DOUBLE_EQ(v.step, std::sqrt(0.005 * 0.005 + 0.05 * 0.05));
}

TEST(Chance, WithoutAnyNothingIsRandom) {
  ChanceQuestion q;
  q.iteration = Seconds(2);
  q.iterations = 50;
  q.gpus = 8;
  const ChanceResult r = training_chance(q);
  for (Seconds t : {r.iteration.mean, r.iteration.p5, r.iteration.p95}) EXPECT_EQ(t, Seconds(2));
  for (Seconds t : {r.total.mean, r.total.p5, r.total.p50, r.total.p95}) EXPECT_EQ(t, Seconds(100));
  EXPECT_EQ(r.expected.goodput(), 1);
  EXPECT_EQ(r.checkpoint_interval, Seconds(100));
}

TEST(Chance, LlamaThreesMonthAndAHalf) {
  const ChanceResult r = training_chance(llama());
  EXPECT_GT(r.slowest_rank, 1.05);
  EXPECT_LT(r.slowest_rank, 1.15);
  EXPECT_NEAR(r.iteration.mean / (Seconds(5) * r.slowest_rank), 1, 0.002);
  EXPECT_LT(r.iteration.p5, r.iteration.p50);
  EXPECT_LT(r.iteration.p50, r.iteration.p95);
  EXPECT_NEAR(r.total.mean / r.expected.total, 1, 0.002);
  EXPECT_LT(r.total.p5, r.total.p95);
  EXPECT_NEAR(r.checkpoint_interval /
                  optimal_interval(Seconds(10), failure_rate(kLlama3FailuresPerGpuDay, 16384)),
              1, 1e-12);
  EXPECT_GT(r.expected.goodput(), 0.9);  // Meta: more than 90 % effective training time
}

TEST(Chance, SameSeedSameAnswerOnAnyNumberOfThreads) {
  const ChanceResult many = training_chance(llama());
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const ChanceResult single = training_chance(llama());
  EXPECT_EQ(many.total.mean, single.total.mean);
  EXPECT_EQ(many.total.p95, single.total.p95);
  EXPECT_EQ(many.iteration.p5, single.iteration.p5);
  ChanceQuestion other = llama();
  other.seed = 2;
  EXPECT_NE(training_chance(other).total.mean, single.total.mean);
}

// With the same numbers a cause more is never faster, in no quantile, however few the draws.
TEST(Chance, CommonRandomNumbersKeepOrder) {
  ChanceQuestion q = llama();
  q.draws = 20;
  const ChanceResult before = training_chance(q);
  const auto slower = [&](auto change) {
    ChanceQuestion more = q;
    more.checkpoint_interval = before.checkpoint_interval;
    change(more);
    const ChanceResult r = training_chance(more);
    EXPECT_GT(r.total.p5, before.total.p5);
    EXPECT_GT(r.total.p50, before.total.p50);
    EXPECT_GT(r.total.p95, before.total.p95);
  };
  slower([](ChanceQuestion& more) { more.variability.gpu = 0.025; });
  slower([](ChanceQuestion& more) { more.restart = Seconds(400); });
  slower([](ChanceQuestion& more) { more.stalls_per_iteration = 0.02, more.stall = Seconds(1); });
  slower([](ChanceQuestion& more) {
    more.degraded_links_per_gpu_day = 1e-5, more.link_repair = Seconds(86400);
    more.degraded_slowdown = 1.1;
  });
}

// 16,384 GPUs, 2e-5 a GPU and day, half a day to repair: 0.164 degraded links on average.
TEST(Chance, DegradedLinksAndStalls) {
  ChanceQuestion q;
  q.iteration = Seconds(10);
  q.gpus = 16384;
  q.degraded_links_per_gpu_day = 2e-5;
  q.link_repair = Seconds(43200);
  q.degraded_slowdown = 1.5;
  q.draws = 20000;
  ChanceResult r = training_chance(q);
  EXPECT_NEAR(r.degraded_share, 1 - std::exp(-0.16384), 1e-9);
  EXPECT_NEAR(r.iteration.mean.value(), 10 * (1 + 0.5 * r.degraded_share), 0.05);
  EXPECT_EQ(r.iteration.p50, Seconds(10));
  EXPECT_EQ(r.iteration.p95, Seconds(15));

  q.degraded_links_per_gpu_day = 0;
  q.stalls_per_iteration = 0.1;
  q.stall = Seconds(4);
  q.iterations = 10000;
  r = training_chance(q);
  EXPECT_NEAR(r.iteration.mean.value(), 10.4, 0.05);
  EXPECT_EQ(r.iteration.p50, Seconds(10));
  EXPECT_NEAR(r.total.mean.value(), 104000, 5);
  // Deviation of 10,000 stalls: 100 * 4 * sqrt(0.1 * 1.9) = 174 s.
  EXPECT_NEAR((r.total.p95 - r.total.p5).value(), 2 * 1.645 * 174.4, 10);
}

TEST(Chance, BadInputIsRefused) {
  const auto refused = [](auto change) {
    ChanceQuestion q = llama();
    change(q);
    EXPECT_THROW(training_chance(q), InputError);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([&](ChanceQuestion& q) { q.iteration = Seconds(nan); });
  refused([](ChanceQuestion& q) { q.iteration = Seconds(-1); });
  refused([](ChanceQuestion& q) { q.iterations = 0; });
  refused([](ChanceQuestion& q) { q.gpus = 0; });
  refused([](ChanceQuestion& q) { q.variability.gpu = -0.1; });
  refused([](ChanceQuestion& q) { q.variability.step = 1.5; });
  refused([](ChanceQuestion& q) { q.failures_per_gpu_day = -1; });
  refused([](ChanceQuestion& q) { q.degraded_slowdown = 0.5; });
  refused([](ChanceQuestion& q) { q.stalls_per_iteration = 2; });
  refused([](ChanceQuestion& q) { q.draws = 0; });
  ChanceQuestion q = llama();
  q.failures_per_gpu_day = 1;
  q.checkpoint_interval = Seconds(3600);
  EXPECT_THROW(training_chance(q), Infeasible);
}

}  // namespace chance_test
}  // namespace orrery
