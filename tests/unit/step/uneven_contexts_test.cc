#include "orrery/step/uneven_contexts.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

TEST(UnevenContexts, SplitsAreFlashAttentions) {
  // 128 units, two blocks each: 205 blocks need no splits.
  EXPECT_EQ(flash_splits(256, 128, 100), 1);
  EXPECT_EQ(flash_splits(205, 128, 100), 1);
  EXPECT_EQ(flash_splits(128, 128, 100), 2);  // 256 blocks fill one wave
  EXPECT_EQ(flash_splits(64, 128, 100), 4);
  EXPECT_EQ(flash_splits(64, 128, 3), 3);  // no more than tiles
  // 188 units, 256 blocks: waves of 376 are filled to 0.68, 0.68, 0.68, 0.91 with 1 to 4 splits.
  EXPECT_EQ(flash_splits(256, 188, 100), 4);
}

TEST(UnevenContexts, WhatTheLongestLetIdle) {
  // 32 sequences x 8 heads: no splits, 52 / 8 = 6.5 sequences fill the memory.
  const UnevenContexts u{52, 128, 8};
  EXPECT_EQ(u.most(), 7u);
  EXPECT_DOUBLE_EQ(u.longest(32, 1000), 6.5);
  const std::vector<std::int64_t> contexts = {1000, 900, 900, 500, 500, 400, 400};
  EXPECT_DOUBLE_EQ(u.idle(32, 600, contexts), 100 + 100 + 500 + 500 + 600 + 0.5 * 600);
  const std::vector<std::int64_t> even(7, 1000);
  EXPECT_EQ(u.idle(32, 1000, even), 0);
  // Two sequences are never enough: both are waited for.
  const std::vector<std::int64_t> two = {1000, 200};
  EXPECT_DOUBLE_EQ((UnevenContexts{52, 128, 1}).idle(2, 100, two), 800);
  // Off.
  EXPECT_EQ(UnevenContexts().most(), 0u);
}

// Of the longest call measured: RTX 4090, 31 sequences of 4096 keys and one of 16384 took 2913 us;
// all at the mean of 4480: 1977, all at 16384: 6879.
TEST(UnevenContexts, AMeasuredCall) {
  const UnevenContexts u{52, 128, 8};
  std::vector<std::int64_t> contexts(7, 4096);
  contexts[0] = 16384;
  const double context = 4480 + u.idle(32, 4480, contexts) / 32;
  const double us = 1977.5 + (6878.6 - 1977.5) * (context - 4480) / (16384 - 4480);
  EXPECT_NEAR(us / 2912.9, 1, 0.05);
}

}  // namespace
}  // namespace orrery
