// Are steps counted in the windows in which they start, and their time where it passes?
#include "orrery/serving/steps/step_windows.h"

#include <gtest/gtest.h>

namespace orrery {
namespace step_windows_test {

TEST(StepWindows, DivideTheTimeOfAStepAndNotItsWork) {
  StepWindows w(SimTime{100});
  w.add(StepCounts{1, 3, 90}, {50}, {250});           // a decode step from 50 to 300
  w.add(StepCounts{1, 0, 0, 2, 64, 8}, {320}, {30});  // a step with prompts
  w.add_present({50}, {390}, 2);
  ASSERT_EQ(w.windows().size(), 4u);
  EXPECT_EQ(w.windows()[0].busy, 50);
  EXPECT_EQ(w.windows()[1].busy, 100);
  EXPECT_EQ(w.windows()[2].busy, 100);
  EXPECT_EQ(w.windows()[3].busy, 30);
  EXPECT_EQ(w.windows()[0].started, 250);
  EXPECT_EQ(w.windows()[0].decoding, (StepCounts{1, 3, 90}));
  EXPECT_EQ(w.windows()[1].decoding, StepCounts{});
  EXPECT_EQ(w.windows()[3].prefilling, (StepCounts{1, 0, 0, 2, 64, 8}));
  EXPECT_EQ(w.windows()[0].present, 100);
  EXPECT_EQ(w.windows()[3].present, 180);
}

TEST(StepWindows, TakeDecodeStepsThatFollowEachOtherAtOnce) {
  for (const std::int64_t width : {1, 60, 1000}) {
    StepWindows together(SimTime{width}), one_by_one(SimTime{width});
    const std::vector<SimTime> durations = {{70}, {0}, {50'000}, {3}, {41}, {0}};
    for (std::int64_t start : {0, 59, 60, 1'000'000}) {
      std::vector<SimTime> times = {{start}};
      for (const SimTime d : durations) times.push_back(times.back() + d);
      together.add_decodes(3, 90, times);
      std::int64_t past = 90;
      for (const SimTime d : durations) {
        one_by_one.add({1, 3, past}, {start}, d);
        start += d.ps, past += 3;
      }
    }
    EXPECT_EQ(together, one_by_one) << width;
  }
}

TEST(StepWindows, KeepTheirSumsAndTheirNumberWhenTheyWiden) {
  StepWindows one(SimTime{1}), a(SimTime{1}), b(SimTime{1});
  std::int64_t busy = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const SimTime start{i * 997}, duration{i % 7};
    one.add({1, i}, start, duration);
    (i % 3 == 0 ? a : b).add({1, i}, start, duration);
    busy += duration.ps;
  }
  EXPECT_LE(one.windows().size(), StepWindows::kMostWindows);
  EXPECT_EQ(one.width(), SimTime{16});  // 996,004 ps in at most 65,536 windows
  StepWindow sum;
  for (const StepWindow& w : one.windows()) sum += w;
  EXPECT_EQ(sum.busy, busy);
  EXPECT_EQ(sum.started, busy);
  EXPECT_EQ(sum.decoding, (StepCounts{1000, 999 * 500}));
  b.add(a);  // in another order
  EXPECT_TRUE(b == one);
}

}  // namespace step_windows_test
}  // namespace orrery
