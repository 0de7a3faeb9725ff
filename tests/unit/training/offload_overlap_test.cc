#include "orrery/training/overlap/offload_overlap.h"

#include <gtest/gtest.h>

namespace orrery {
namespace offload_overlap_test {

TEST(OffloadOverlap, ByHand) {
  // Four layers of 3 s: transfers of 2 s hide; of 5 s, the third and the fourth wait for the first
  // and the second.
  EXPECT_EQ(offloaded_time(Seconds(12), Seconds(8), 4), Seconds(12));
  EXPECT_EQ(offloaded_time(Seconds(12), Seconds(20), 4), Seconds(2 * 3 + 2 * 5));
  // One layer, or two: there is always a buffer.
  EXPECT_EQ(offloaded_time(Seconds(12), Seconds(100), 1), Seconds(12));
  EXPECT_EQ(offloaded_time(Seconds(12), Seconds(100), 2), Seconds(12));
}

TEST(OffloadOverlap, ClosedFormIsTheEvents) {
  for (const int layers : {1, 2, 3, 5, 32})
    for (const double transfer : {0.0, 1.0, 11.9, 12.0, 12.1, 60.0})
      EXPECT_NEAR(offloaded_time(Seconds(12), Seconds(transfer), layers).value(),
                  run_offloaded(Seconds(12), Seconds(transfer), layers).value(), 1e-12)
          << layers << " layers, " << transfer << " s";
}

}  // namespace offload_overlap_test
}  // namespace orrery
