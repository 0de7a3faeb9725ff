// Laws of chance: closed forms against draws, rank by rank and failure by failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/training/chance/chance.h"

namespace orrery {
namespace chance_law_test {

struct Sample {
  double sum = 0, squares = 0, n = 0;
  void add(double x) { sum += x, squares += x * x, ++n; }
  double mean() const { return sum / n; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / n - mean() * mean())); }
  double error() const { return deviation() / std::sqrt(n); }  // of the mean
};

TEST(ChanceLaw, RenewalIsTheMeanOfRandomRuns) {
  RandomStream random(3, "renewal");
  for (const CheckpointPlan& plan :
       {CheckpointPlan{Hertz(1 / 100.0), Seconds(5), Seconds(20), Seconds(30)},
        CheckpointPlan{Hertz(1 / 100.0), Seconds(1), Seconds(200), Seconds(150)},
        CheckpointPlan{Hertz(1 / 5000.0), Seconds(40), Seconds(0), Seconds(333)}}) {
    const Seconds work(1000);
    Sample runs;
    for (int i = 0; i < 40'000; ++i) runs.add(random_run(work, plan, random).value());
    EXPECT_NEAR(runs.mean(), expected_run(work, plan).total.value(), 4 * runs.error());
  }
}

// The same, second by second: a failure each second with a small chance.
TEST(ChanceLaw, RandomRunsAreThoseOfASecondBySecondClock) {
  const CheckpointPlan plan{Hertz(0.02), Seconds(3), Seconds(7), Seconds(20)};
  RandomStream random(5, "clock");
  constexpr int kTicks = 20;  // a second
  Sample slow, fast;
  for (int i = 0; i < 4000; ++i) {
    int saved = 0, since = 0, wall = 0, down = 0;  // ticks
    const int work = 50 * kTicks, interval = 20 * kTicks, write = 3 * kTicks;
    while (saved < work) {
      ++wall;
      if (random.uniform() < 0.02 / kTicks) {
        since = 0;
        down = 7 * kTicks;
      } else if (down > 0) {
        --down;
      } else if (++since == std::min(interval, work - saved) + write) {
        saved += since - write;
        since = 0;
      }
    }
    slow.add(static_cast<double>(wall) / kTicks);
    fast.add(random_run(Seconds(50), plan, random).value());
  }
  EXPECT_NEAR(slow.mean(), fast.mean(), 4 * std::hypot(slow.error(), fast.error()));
  EXPECT_NEAR(slow.deviation(), fast.deviation(), 0.1 * fast.deviation());
}

TEST(ChanceLaw, OptimalIntervalIsTheMinimum) {
  for (double write : {0.1, 10.0, 300.0, 5000.0}) {
    const Hertz rate(1 / 10'000.0);
    const Seconds best = optimal_interval(Seconds(write), rate);
    // Whole segments, so that no shorter one disturbs.
    const auto cost = [&](Seconds interval) {
      return expected_run(interval * 1000, {rate, Seconds(write), Seconds(60), interval}).total /
             (interval * 1000);
    };
    EXPECT_LT(cost(best), cost(best * 1.02));
    EXPECT_LT(cost(best), cost(best * 0.98));
    // Daly's series and Young's root are near it, and no better.
    const Seconds daly = daly_interval(Seconds(write), rate);
    const Seconds young = young_interval(Seconds(write), rate);
    EXPECT_LE(cost(best), cost(daly));
    EXPECT_LE(cost(best), cost(young));
    if (write <= 300) {
      EXPECT_NEAR(daly / best, 1, 1e-3);
    }
    if (write <= 0.1) {
      EXPECT_NEAR(young / best, 1, 2e-3);
    }
  }
}

// With common random numbers the drawn mean has its minimum where the closed form has it.
TEST(ChanceLaw, DrawnRunsAgreeOnTheOptimum) {
  const Hertz rate(1 / 10'000.0);
  const Seconds write(60), work(2e6);
  const Seconds best = optimal_interval(write, rate);
  const auto mean = [&](Seconds interval) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      RandomStream random(11, "optimum");
      random.seek(i << 32);
      sum += random_run(work, {rate, write, Seconds(300), interval}, random).value();
    }
    return sum / 2000;
  };
  const double there = mean(best);
  EXPECT_LT(there, mean(best * 1.5));
  EXPECT_LT(there, mean(best / 1.5));
}

TEST(ChanceLaw, SlowestOfRanksIsThatOfDraws) {
  RandomStream random(7, "slowest");
  for (int ranks : {2, 10, 300}) {
    Sample slowest;
    std::vector<double> drawn;
    for (int i = 0; i < 20'000; ++i) {
      double most = -100;
      for (int k = 0; k < ranks; ++k) most = std::max(most, random.normal());
      drawn.push_back(std::exp(0.1 * most));
      slowest.add(drawn.back());
    }
    EXPECT_NEAR(slowest_mean(ranks, 0.1), slowest.mean(), 4 * slowest.error()) << ranks;
    std::sort(drawn.begin(), drawn.end());
    for (double p : {0.05, 0.5, 0.95}) {
      EXPECT_NEAR(slowest_quantile(ranks, 0.1, p), drawn[static_cast<std::size_t>(p * 20'000)],
                  0.006)
          << ranks;
    }
  }
}

// Runs of persistent and fleeting variability, rank by rank and step by step.
TEST(ChanceLaw, RunsFactorIsThatOfDrawnGpus) {
  for (const auto& [ranks, v] : {std::pair{6, Variability{0.1, 0.05}},
                                 {40, {0.1, 0.1}},
                                 {40, {0.02, 0.1}},
                                 {200, {0.1, 0.02}}}) {
    RandomStream random(9, "gpus"), gpus(9, "run");
    Sample drawn, means, deviations, fast_deviations;
    for (int run = 0; run < 400; ++run) {
      std::vector<double> z;
      for (int k = 0; k < ranks; ++k) z.push_back(v.gpu * random.normal());
      Sample steps;
      for (int step = 0; step < 150; ++step) {
        double most = -100;
        for (double own : z) most = std::max(most, own + v.step * random.normal());
        steps.add(std::exp(most));
      }
      drawn.add(steps.mean());
      deviations.add(steps.deviation());
    }
    for (int run = 0; run < 4000; ++run) {
      const RunFactor factor = random_run_factor(ranks, v, gpus);
      means.add(factor.mean);
      fast_deviations.add(factor.deviation);
    }
    const double exact = slowest_mean(ranks, std::hypot(v.gpu, v.step));
    EXPECT_NEAR(means.mean(), exact, 4 * means.error()) << ranks;
    EXPECT_NEAR(means.mean(), drawn.mean(), 4 * drawn.error()) << ranks;
    // The spread of the runs. Drawn runs also have the noise of their steps.
    const double noise = deviations.mean() / std::sqrt(150);
    EXPECT_NEAR(std::hypot(means.deviation(), noise) / drawn.deviation(), 1, 0.15) << ranks;
    EXPECT_NEAR(fast_deviations.mean() / deviations.mean(), 1, 0.05) << ranks;
  }
}

// Another rank may be a straggler: no job is faster for it, nor for ranks that differ more.
TEST(ChanceLaw, AnotherStragglerNeverSpeedsUp) {
  double before_sigma = 0;
  for (const double sigma : {0.0, 0.01, 0.03, 0.1}) {
    double before = 0;
    for (std::int64_t ranks = 1; ranks <= 1 << 17; ranks *= 2) {
      const double now = slowest_mean(ranks, sigma);
      EXPECT_GE(now, before) << ranks << " ranks, " << sigma;
      before = now;
    }
    EXPECT_GE(before, before_sigma);
    before_sigma = before;
  }
  ChanceQuestion q;
  q.iteration = Seconds(3), q.iterations = 1000, q.variability = {0.03, 0.02}, q.draws = 500;
  Seconds before;
  for (q.gpus = 8; q.gpus <= 8192; q.gpus *= 4) {
    const Seconds now = training_chance(q).total.mean;
    EXPECT_GT(now, before) << q.gpus;
    before = now;
  }
}

TEST(ChanceLaw, ExpectedRunIsTheMeanOfTheJob) {
  ChanceQuestion q;
  q.iteration = Seconds(3);
  q.iterations = 20'000;
  q.gpus = 2048;
  q.variability = {0.03, 0.02};
  q.failures_per_gpu_day = 5e-3;
  q.checkpoint_write = Seconds(15);
  q.restart = Seconds(240);
  q.stalls_per_iteration = 0.01;
  q.stall = Seconds(2);
  q.draws = 4000;
  const ChanceResult r = training_chance(q);
  const double deviation = (r.total.p95 - r.total.p5).value() / 3.29;
  EXPECT_NEAR(r.total.mean.value(), r.expected.total.value(), 5 * deviation / std::sqrt(4000));
}

}  // namespace chance_law_test
}  // namespace orrery
