#include "orrery/flow/chakra/astra_sim.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace astra_sim_test {

using Kind = Collective::Kind;

double ns(Kind kind, CollectiveAlgorithm algorithm, Wiring wiring, int npus, double bytes) {
  return astra_sim_time(kind, algorithm, {wiring, npus, 400, 936.25}, Bytes(bytes)).value() * 1e9;
}

TEST(AstraSim, ADirectAllGatherByHand) {
  // 64 KiB in 4 chunks of 16384: 38 ns on the link, 974 until arrival. Chunk 0: 10 + 974 + 10;
  // chunk 1 behind it on the link: 10 + 38 + 974 + 10 = 1032; then chunks 2 and 3 the same, the
  // last from 1032: 1032 + 10 + 974 + 10.
  EXPECT_NEAR(ns(Kind::kAllGather, CollectiveAlgorithm::kDirect, Wiring::kMesh, 4, 65536), 2026,
              1e-6);
}

TEST(AstraSim, FiguresThatItPrints) {
  // HGX-H100, 8 NPUs, 1 MB (docs/reference/network.md, ASTRA-sim).
  EXPECT_NEAR(ns(Kind::kAllReduce, CollectiveAlgorithm::kRing, Wiring::kSwitch, 8, 1 << 20), 57426,
              1e-6);
  EXPECT_NEAR(ns(Kind::kAllGather, CollectiveAlgorithm::kRing, Wiring::kSwitch, 8, 1 << 20), 44058,
              1);
  EXPECT_NEAR(ns(Kind::kReduceScatter, CollectiveAlgorithm::kRing, Wiring::kSwitch, 8, 1 << 20),
              28950, 1);
  EXPECT_NEAR(ns(Kind::kAllToAll, CollectiveAlgorithm::kRing, Wiring::kSwitch, 8, 1 << 20), 114000,
              1);
}

TEST(AstraSim, WhatItDoesNotReproduceIsRefused) {
  EXPECT_THROW(ns(Kind::kAllReduce, CollectiveAlgorithm::kTree, Wiring::kRing, 8, 1), InputError);
  EXPECT_THROW(ns(Kind::kAllReduce, CollectiveAlgorithm::kDirect, Wiring::kRing, 8, 1), InputError);
  EXPECT_THROW(ns(Kind::kBroadcast, CollectiveAlgorithm::kRing, Wiring::kRing, 8, 1), InputError);
  EXPECT_THROW(ns(Kind::kAllReduce, CollectiveAlgorithm::kHalvingDoubling, Wiring::kSwitch, 6, 1),
               InputError);
  EXPECT_THROW(ns(Kind::kAllReduce, CollectiveAlgorithm::kRing, Wiring::kRing, 8, 1e30),
               InputError);
  EXPECT_THROW(ns(Kind::kAllToAll, CollectiveAlgorithm::kRing, Wiring::kRing, 1'000'000, 1),
               InputError);
  EXPECT_EQ(ns(Kind::kAllReduce, CollectiveAlgorithm::kRing, Wiring::kRing, 1, 1), 0);
}

}  // namespace astra_sim_test
}  // namespace orrery
