#include "orrery/workload/ops/collective_algorithm.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace collective_algorithm_test {

using enum AlgorithmModel;

TEST(CollectiveAlgorithm, EveryNameIsReadBack) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCollectiveAlgorithms; ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    EXPECT_TRUE(names.insert(to_text(algorithm)).second) << to_text(algorithm);
    EXPECT_FALSE(description(algorithm).empty());
    bool known = false;
    for (AlgorithmModel model : {kCurve, kTuner, kFlow}) {
      const auto parsed = parse_collective_algorithm(to_text(algorithm), model);
      EXPECT_EQ(parsed.has_value(), has_model(algorithm, model));
      if (parsed) {
        EXPECT_EQ(*parsed, algorithm);
      }
      known |= parsed.has_value();
    }
    EXPECT_TRUE(known) << to_text(algorithm) << " is in no model";
  }
}

TEST(CollectiveAlgorithm, SpellingsOfNccl) {
  EXPECT_EQ(parse_collective_algorithm("NVLSTree", kTuner), CollectiveAlgorithm::kNvlsTree);
  EXPECT_EQ(parse_collective_algorithm("CollNetDirect", kTuner),
            CollectiveAlgorithm::kCollNetDirect);
  EXPECT_FALSE(parse_collective_algorithm("NVLSTree", kFlow));
  EXPECT_FALSE(parse_collective_algorithm("auto", kTuner));
  EXPECT_EQ(parse_collective_protocol("LL128"), CollectiveProtocol::kLl128);
}

// The tuner takes the first of two algorithms of equal time, so the order is NCCL's.
TEST(CollectiveAlgorithm, TheTunersOrderIsNccls) {
  EXPECT_EQ(collective_algorithm_names(kTuner),
            (std::vector<std::string>{"tree", "ring", "collnet-direct", "collnet-chain", "nvls",
                                      "nvls-tree", "pat", "symmetric-memory"}));
}

TEST(CollectiveAlgorithm, AForcedChoiceAllowsWhatItLeavesOpen) {
  const ForcedChoice ring{CollectiveAlgorithm::kRing, {}};
  EXPECT_TRUE(ring.any());
  EXPECT_TRUE(ring.allows(CollectiveAlgorithm::kRing, CollectiveProtocol::kLl));
  EXPECT_FALSE(ring.allows(CollectiveAlgorithm::kTree, CollectiveProtocol::kLl));
  EXPECT_FALSE(ForcedChoice{}.any());
  EXPECT_FALSE((ForcedChoice{{}, CollectiveProtocol::kSimple})
                   .allows(CollectiveAlgorithm::kRing, CollectiveProtocol::kLl));
}

}  // namespace collective_algorithm_test
}  // namespace orrery
