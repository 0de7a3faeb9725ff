#include "orrery/edge/fusion/fusion_test.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "tests/unit/edge/edge_tables.h"

namespace orrery {
namespace fusion_test_test {

TEST(FusionTest, SavingIsAShareOfTheCheaperOperator) {
  EXPECT_DOUBLE_EQ(fusion_saving({10, 4, 11}), 0.75);  // 3 of 4 ms
  EXPECT_TRUE(is_fused({10, 4, 11}));
  EXPECT_FALSE(is_fused({10, 4, 12}));  // half is not more than half
  EXPECT_FALSE(is_fused({10, 4, 15}));  // slower together than alone
  EXPECT_EQ(fusion_saving({3, 5, 6}), fusion_saving({5, 3, 6}));
}

TEST(FusionTest, TimesMustBePositive) {
  EXPECT_THROW(is_fused({0, 1, 1}), InputError);
  EXPECT_THROW(is_fused({1, -1, 1}), InputError);
  EXPECT_THROW(is_fused({1, 1, std::numeric_limits<double>::infinity()}), InputError);
}

TEST(FusionTest, AllPublishedVerdicts) {
  NEEDS_EDGE_TABLE("fusion_tests.csv");
  CsvReader csv(edge_table("fusion_tests.csv"));
  int same = 0, rows = 0;
  while (csv.next()) {
    ++rows;
    const FusionTiming timing{csv.number(csv.column("op1_ms")), csv.number(csv.column("op2_ms")),
                              csv.number(csv.column("block_ms"))};
    same += is_fused(timing) == (csv.integer(csv.column("published_fused")) == 1) ? 1 : 0;
  }
  EXPECT_EQ(rows, 62);
  EXPECT_EQ(same, 62);
}

}  // namespace fusion_test_test
}  // namespace orrery
