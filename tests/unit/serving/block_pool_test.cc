// The paged pool: its free queue and its index of full blocks.
#include "orrery/serving/state/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace block_pool_test {

TEST(BlockPool, FreeBlocksAreTakenInTheOrderInWhichTheyWereGivenBack) {
  BlockPool pool(3, false);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  pool.release(1);
  pool.release(0);
  EXPECT_EQ(pool.free(), 3);
  EXPECT_EQ(pool.take(), 2);  // never used
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.free(), 0);
}

TEST(BlockPool, BlocksThatWereNeverTakenComeFirst) {
  BlockPool pool(4, true);
  std::uint64_t forgotten = 1;
  EXPECT_EQ(pool.take(&forgotten), 0);
  EXPECT_EQ(forgotten, 0u);
  pool.publish(0, 7);
  pool.release(0);
  for (BlockId b : {1, 2, 3}) EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.find(7), 0);
  EXPECT_EQ(pool.take(&forgotten), 0);
  EXPECT_EQ(forgotten, 7u);
  EXPECT_EQ(pool.free(), 0);
}

TEST(BlockPool, SeveralAreGivenBackAndTakenAsOneByOne) {
  for (const bool caching : {false, true}) {
    BlockPool together(400, caching), one_by_one(400, caching);
    std::vector<std::vector<BlockId>> held(5);
    for (std::size_t round = 0; round < 200; ++round) {
      std::vector<BlockId>& blocks = held[round % held.size()];
      together.release(blocks);
      for (std::size_t i = blocks.size(); i-- > 0;) {
        if (blocks[i] != kNoBlock) one_by_one.release(blocks[i]);
      }
      blocks.clear();
      const std::size_t n = 1 + 7 * round % 80;
      together.take(static_cast<std::int64_t>(n), blocks);
      ASSERT_EQ(blocks.size(), n);
      for (const BlockId b : blocks) ASSERT_EQ(one_by_one.take(), b) << round;
      if (round == 150) together.publish(blocks[0], 7), one_by_one.publish(blocks[0], 7);
      if (round == 120) {
        together.release(blocks.back()), one_by_one.release(blocks.back());
        blocks.back() = kNoBlock;
      }
      ASSERT_EQ(together.free(), one_by_one.free());
    }
    EXPECT_EQ(together.find(7), one_by_one.find(7));
  }
}

// The index of hashes grows with the blocks that are full.
TEST(BlockPool, ManyHashesAreFoundAndForgotten) {
  constexpr BlockId kBlocks = 5000;
  const auto hash = [](BlockId b) {
    return (static_cast<std::uint64_t>(b) + 1) * 0x9e3779b97f4a7c15u;
  };
  BlockPool pool(kBlocks, true);
  for (BlockId b = 0; b < kBlocks; ++b) {
    ASSERT_EQ(pool.take(), b);
    pool.publish(b, hash(b));
  }
  for (BlockId b = 0; b < kBlocks; ++b) {
    ASSERT_EQ(pool.find(hash(b)), b);
    pool.release(b);
  }
  for (BlockId b = 0; b < kBlocks / 2; ++b) ASSERT_EQ(pool.take(), b);
  for (BlockId b = 0; b < kBlocks; ++b) ASSERT_EQ(pool.find(hash(b)), b < kBlocks / 2 ? -1 : b);
}

// A replica of a large GPU has room for millions of blocks; a short run touches few.
TEST(BlockPool, RoomThatIsNotUsedTakesNoMemory) {
  BlockPool pool(2'000'000'000, true);  // 80 GB if all were there
  EXPECT_EQ(pool.size(), 2'000'000'000);
  EXPECT_EQ(pool.free(), 2'000'000'000);
  EXPECT_EQ(pool.take(), 0);
}

TEST(BlockPool, AReleasedBlockIsFoundUntilItIsTakenAgain) {
  BlockPool pool(2, true);
  const BlockId a = pool.take();
  pool.publish(a, 7);
  pool.release(a);
  EXPECT_EQ(pool.find(7), a);
  pool.take();  // the other one
  EXPECT_EQ(pool.find(7), a);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.find(7), -1);
}

TEST(BlockPool, SharingTakesABlockOutOfTheFreeQueue) {
  BlockPool pool(2, true);
  const BlockId a = pool.take();
  pool.publish(a, 7);
  pool.release(a);
  EXPECT_TRUE(pool.idle(a));
  pool.share(a);
  pool.share(a);
  EXPECT_EQ(pool.free(), 1);
  pool.release(a);
  EXPECT_EQ(pool.free(), 1);  // one user is left
  pool.release(a);
  EXPECT_EQ(pool.free(), 2);
}

// The free queue keeps its order while blocks in its middle are shared, and while it grows.
TEST(BlockPool, TheOrderOfTheFreeQueueOutlivesSharedBlocks) {
  constexpr BlockId kBlocks = 300;
  BlockPool pool(kBlocks, true);
  std::vector<BlockId> all;
  pool.take(kBlocks, all);
  for (BlockId b : all) {
    if (b % 3 == 0) pool.publish(b, 1000 + static_cast<std::uint64_t>(b));
  }
  for (int round = 0; round < 5; ++round) {
    for (BlockId b : all) pool.release(b);
    for (BlockId b = 0; b < kBlocks; b += 3) pool.share(b);
    EXPECT_EQ(pool.free(), 200);
    for (BlockId b = 0; b < kBlocks; b += 3) pool.release(b);
    EXPECT_EQ(pool.free(), 300);
    std::vector<BlockId> free;
    pool.take(200, free);
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_EQ(free[i], static_cast<BlockId>(i / 2 * 3 + i % 2 + 1));
    std::vector<BlockId> cached;
    for (int i = 0; i < 100; ++i) {
      std::uint64_t forgotten;
      cached.push_back(pool.take(&forgotten));
      EXPECT_EQ(forgotten, 1000 + 3 * static_cast<std::uint64_t>(i));
      pool.publish(cached.back(), forgotten);
    }
  }
}

TEST(BlockPool, OfTwinsTheFirstIsFoundThenTheNext) {
  BlockPool pool(3, true);
  const BlockId a = pool.take(), b = pool.take(), c = pool.take();
  for (BlockId block : {a, b, c}) pool.publish(block, 7);
  EXPECT_EQ(pool.find(7), a);
  pool.release(b);
  EXPECT_EQ(pool.take(), b);  // from the middle: the first stays the first
  EXPECT_EQ(pool.find(7), a);
  pool.release(a);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.find(7), c);
  pool.release(c);
  EXPECT_EQ(pool.take(), c);
  EXPECT_EQ(pool.find(7), -1);
}

TEST(BlockPool, ABlockKeepsItsFirstHash) {
  BlockPool pool(1, true);
  const BlockId a = pool.take();
  pool.publish(a, 7);
  pool.publish(a, 8);
  EXPECT_EQ(pool.find(7), a);
  EXPECT_EQ(pool.find(8), -1);
}

TEST(BlockPool, WithoutCachingNothingIsFound) {
  BlockPool pool(1, false);
  const BlockId a = pool.take();
  pool.publish(a, 7);
  EXPECT_EQ(pool.find(7), -1);
}

// Hashes that fall on the same place of the table, taken out in every order.
TEST(BlockPool, CollidingHashesAreToldApart) {
  BlockPool pool(6, true);
  std::vector<BlockId> blocks;
  for (std::uint64_t i = 0; i < 6; ++i) {
    blocks.push_back(pool.take());
    pool.publish(blocks.back(), 3 + (i << 40));
  }
  for (int gone : {2, 0, 5, 1, 4, 3}) {
    pool.release(blocks[static_cast<std::size_t>(gone)]);
    pool.take();
    blocks[static_cast<std::size_t>(gone)] = -1;
    for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(pool.find(3 + (i << 40)), blocks[i]);
  }
}

}  // namespace block_pool_test
}  // namespace orrery
