#include "orrery/flow/simulation/timed_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace orrery {
namespace timed_heap_test {

TEST(IndexedTimes, TheEarliestComesFirstWhereverItWasMoved) {
  std::mt19937 random(1);
  IndexedTimes times;
  times.resize(50);
  std::map<std::int32_t, double> plain;
  for (int i = 0; i < 5000; ++i) {
    if (!plain.empty() && random() % 3 == 0) {
      const auto first =
          std::min_element(plain.begin(), plain.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      ASSERT_EQ(times.next(), first->second);
      ASSERT_EQ(times.pop(), first->first);  // of equal times the smaller item
      plain.erase(first);
    } else {
      const auto item = static_cast<std::int32_t>(random() % 50);
      plain[item] = static_cast<double>(random() % 40);
      times.set(item, plain[item]);
    }
  }
}

TEST(DelayLanes, ThingsHappenInOrderOfTimeThenOfPushes) {
  std::mt19937 random(2);
  DelayLanes lanes;
  const double delays[] = {3, 1, 7};
  std::set<std::pair<double, std::int32_t>> plain;  // pushes are numbered
  double now = 0;
  for (std::int32_t i = 0; i < 5000; ++i) {
    if (random() % 2 == 0) {
      const double d = delays[random() % 3];
      lanes.push(lanes.lane(d), now + d, i);
      plain.emplace(now + d, i);
    } else if (!plain.empty()) {
      now = lanes.next();
      ASSERT_EQ(now, plain.begin()->first);
      ASSERT_EQ(lanes.pop(), plain.begin()->second);
      plain.erase(plain.begin());
    }
    ASSERT_EQ(lanes.size(), plain.size());
    if (i == 2500) {
      lanes.shift(10);
      now += 10;
      std::set<std::pair<double, std::int32_t>> later;
      for (const auto& [time, what] : plain) later.emplace(time + 10, what);
      plain.swap(later);
    }
  }
}

}  // namespace timed_heap_test
}  // namespace orrery
