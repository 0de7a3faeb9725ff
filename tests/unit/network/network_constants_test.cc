#include "orrery/network/collectives/network_constants.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "tests/unit/network/catalog_constants.h"

namespace orrery {
namespace network_constants_test {

constexpr const char* kText = R"(
fabrics: [wire-a, wire-b]
stands_for: [wire, bus]
origin: measured
recipe: "by hand"
curves:
  - {stack: library, algorithm: ring, collective: all_reduce, latency: 4 us, step: 1 us, pipelining: 0.5,
     efficiency: [0.4, 0.6, 0.8], rows: 12, left_out_error: [0.07, 0.1, 0.04], most_ranks: [4, 4, 8]}
  - {stack: vllm, algorithm: one-shot, collective: all_reduce, latency: 2 us, step: 0.1 us,
     efficiency: [0.4, 0.4, 0.4], left_out_error: [0.2, 0.2, 0.2]}
across:
  - {gpus: all, start: 1, width: 0.9, pipelining: 0.5, rows: 3, most_ranks: 16}
)";

FabricConstants constants() { return read_network_constants(parse_yaml(kText, "wire.yaml")); }

Fabric fabric(std::string id, FabricKind kind) {
  Fabric f;
  f.id = std::move(id);
  f.kind = kind;
  return f;
}

TEST(NetworkConstants, WrittenTextReadsBack) {
  const FabricConstants a = constants();
  const FabricConstants b = read_network_constants(parse_yaml(to_yaml(a), "again.yaml"));
  EXPECT_EQ(b.fabrics, a.fabrics);
  EXPECT_EQ(b.stands_for, a.stands_for);
  ASSERT_EQ(b.curves.size(), 2u);
  EXPECT_NEAR(b.curves[0].curve.latency.value(), 4e-6, 1e-12);
  EXPECT_EQ(b.curves[0].curve.efficiency[2], 0.8);
  EXPECT_EQ(b.curves[0].most_ranks, (std::array<int, 3>{4, 4, 8}));
  EXPECT_EQ(b.curves[1].most_ranks, (std::array<int, 3>{}));
  EXPECT_EQ(b.across.at(0).most_ranks, 16);
  EXPECT_EQ(b.curves[1].stack, "vllm");
  EXPECT_EQ(b.curves[1].algorithm, CollectiveAlgorithm::kOneShot);
}

TEST(NetworkConstants, EfficienciesAreThree) {
  const std::string text =
      "fabrics: [a]\nrecipe: r\ncurves:\n  - {stack: library, algorithm: ring, collective: "
      "all_reduce, "
      "latency: 4 us, step: 1 us, efficiency: [0.4]}\n";
  EXPECT_THROW(read_network_constants(parse_yaml(text, "t")), InputError);
}

TEST(NetworkConstants, AFabricTakesItsOwnFileThenANamesakesThenItsKinds) {
  std::vector<FabricConstants> all = {constants(), constants(), constants()};
  all[1].fabrics = {"other"};
  all[1].stands_for = {"wire-long"};
  all[2].fabrics = {"third"};
  all[2].stands_for = {"switch"};
  EXPECT_EQ(match_constants(all, fabric("wire-a", FabricKind::kSwitch)).constants, &all[0]);
  EXPECT_EQ(match_constants(all, fabric("wire-a", FabricKind::kSwitch)).origin, Origin::kMeasured);
  EXPECT_EQ(match_constants(all, fabric("wire-long-9", FabricKind::kSwitch)).constants, &all[1]);
  EXPECT_EQ(match_constants(all, fabric("wire-x", FabricKind::kSwitch)).constants, &all[0]);
  EXPECT_EQ(match_constants(all, fabric("wire-x", FabricKind::kSwitch)).origin,
            Origin::kTransferred);
  EXPECT_EQ(match_constants(all, fabric("x", FabricKind::kSwitch)).constants, &all[2]);
  EXPECT_EQ(match_constants(all, fabric("x", FabricKind::kTorus)).constants, nullptr);
}

TEST(NetworkConstants, TheFastestOfStackAndLibrary) {
  const FabricConstants c = constants();
  const Fabric f = fabric("wire-a", FabricKind::kSwitch);
  const auto pick = [&](std::string_view stack, int ranks, double bytes) {
    return fastest(c.curves, stack,
                   {f, Collective::Kind::kAllReduce, ranks, Bytes(bytes), BytesPerSecond(1e11)})
        .algorithm;
  };
  EXPECT_EQ(pick("vllm", 4, 1e3), CollectiveAlgorithm::kOneShot);
  EXPECT_EQ(pick("vllm", 4, 1e8), CollectiveAlgorithm::kRing);
  EXPECT_EQ(pick("nccl", 4, 1e3), CollectiveAlgorithm::kRing);
  EXPECT_EQ(pick("vllm", 3, 1e3), CollectiveAlgorithm::kRing);   // not for odd groups
  EXPECT_EQ(pick("vllm", 16, 1e3), CollectiveAlgorithm::kRing);  // nor for large ones
}

TEST(NetworkConstants, KindsWithoutACurveTakeTheRings) {
  const FabricConstants c = constants();
  const Fabric f = fabric("wire-a", FabricKind::kSwitch);
  // 4 ranks: 3 steps of 1 us + 4 us; 3/4 of 8 MB at 60 GB/s: 100 us; 0.5 * sqrt(700) = 13.2.
  const CurveChoice g = fastest(
      c.curves, "nccl", {f, Collective::Kind::kAllGather, 4, Bytes(8e6), BytesPerSecond(1e11)});
  EXPECT_NEAR(g.time.total.value(), 120.229e-6, 1e-9);
}

TEST(NetworkConstants, TheBundledFilesAreSound) {
  const auto all = bundled_network_constants();
  EXPECT_GE(all.size(), 9u);
  for (const FabricConstants& c : all) {
    EXPECT_FALSE(c.curves.empty() && c.across.empty()) << c.fabrics[0];
    for (const FittedAcross& a : c.across) {
      EXPECT_GT(a.errors.start, 0) << c.fabrics[0];
      EXPECT_GT(a.errors.width, 0) << c.fabrics[0];
      EXPECT_GT(a.errors.curve, 0) << c.fabrics[0];
      // Classes that were not measured on the network have the errors of any other network.
      EXPECT_EQ(a.elsewhere.start > a.errors.start, a.rows > 0) << c.fabrics[0];
      EXPECT_EQ(a.elsewhere.width > a.errors.width, a.rows > 0) << c.fabrics[0];
    }
    for (const FittedCurve& f : c.curves) {
      for (double error : f.left_out_error) EXPECT_GT(error, 0) << c.fabrics[0];
    }
  }
}

}  // namespace network_constants_test
}  // namespace orrery
