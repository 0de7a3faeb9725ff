// Dataflows of directives on tiny layers, worked out by hand.
#include "orrery/accelerator/dataflow/directive_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace directive_model_test {

using testing::HasSubstr;
using testing::ThrowsMessage;

DirectiveLayer layer(const std::string& body) {
  return read_directive_layers("Network N { Layer L { " + body + " } }", "map.m").at(0);
}

TEST(DirectiveModel, AProductOnTwoUnits) {
  // A unit holds a row of the output at a time; N goes on in 3 steps.
  const DirectiveLayer l = layer(
      "Type: GEMM Dimensions { M: 2, N: 3, K: 4 }"
      "Dataflow { TemporalMap(1,1) N; SpatialMap(1,1) M; TemporalMap(4,4) K; }");
  DirectiveMachine machine;
  machine.units = 2;
  const DirectiveCost c = evaluate_directives(l, machine);
  EXPECT_EQ(c.multiply_adds, 24);
  // A unit computes 4 in a step. The first step brings in A and a column of B in one cycle.
  EXPECT_EQ(c.cycles, (4 + 1) + 4 + 4);
  EXPECT_EQ(c.units, 2);
  EXPECT_EQ(c.input.l2_reads, 8);    // A stays
  EXPECT_EQ(c.filter.l2_reads, 12);  // a column of B for both units
  EXPECT_EQ(c.output.l2_writes, 6);
  EXPECT_EQ(c.input.l2_writes, 8);
  EXPECT_EQ(c.filter.l2_writes, 12);
  EXPECT_EQ(c.output.l2_reads, 6);
  EXPECT_EQ(c.input.l1_reads, 24);
  EXPECT_EQ(c.output.l1_writes, 24);
  // Twice what the first step moves, and twice a unit's rows, columns and output.
  EXPECT_EQ(c.l2_words, 2 * (8 + 4 + 2));
  EXPECT_EQ(c.l1_words, 2 * (4 + 4 + 1));
  EXPECT_EQ(c.peak_bandwidth, 12 / 4);
  EXPECT_DOUBLE_EQ(c.mean_bandwidth, (3 + 1 + 1) / 3.0);
  EXPECT_DOUBLE_EQ(c.arithmetic_intensity, 8 / 4.0);
  EXPECT_DOUBLE_EQ(l2_energy(c), 0.00023 * 18.61 * (8 + 8 + 12 + 12 + 6));
}

TEST(DirectiveModel, ASlidingWindowFetchesWhatIsNew) {
  const DirectiveLayer l = layer(
      "Type: CONV Dimensions { K: 1, C: 1, R: 1, S: 3, Y: 1, X: 5 }"
      "Dataflow { SpatialMap(1,1) K; TemporalMap(Sz(S),1) X; TemporalMap(Sz(S),Sz(S)) S; }");
  DirectiveMachine machine;
  machine.units = 1;
  const DirectiveCost c = evaluate_directives(l, machine);
  EXPECT_EQ(c.multiply_adds, 9);
  EXPECT_EQ(c.input.l2_reads, 3 + 1 + 1);
  EXPECT_EQ(c.filter.l2_reads, 3);
  EXPECT_EQ(c.output.l2_writes, 3);
  EXPECT_EQ(c.output.l2_reads, 3);  // 5 - 3 + 1 outputs
  EXPECT_EQ(c.cycles, (3 + 1) + 3 + 3);
}

TEST(DirectiveModel, ClustersReduceInSpace) {
  // Two clusters of two units; a cluster's units share K.
  const DirectiveLayer l = layer(
      "Type: GEMM Dimensions { M: 2, N: 3, K: 2 }"
      "Dataflow { TemporalMap(1,1) N; SpatialMap(1,1) M; TemporalMap(2,2) K; Cluster(2, P);"
      "           SpatialMap(1,1) K; }");
  DirectiveMachine machine;
  machine.units = 4;
  const DirectiveCost c = evaluate_directives(l, machine);
  EXPECT_EQ(c.units, 4);
  EXPECT_EQ(c.multiply_adds, 12);
  // A cluster fetches in one cycle and computes in one.
  EXPECT_EQ(c.cycles, (2 + 1) + 2 + 2);
}

TEST(DirectiveModel, UnitsThatADimensionDoesNotFillStayIdle) {
  // K = 5 on 4 units: a step of 4 and one of 1.
  const DirectiveLayer l = layer(
      "Type: GEMM Dimensions { M: 5, N: 1, K: 2 }"
      "Dataflow { SpatialMap(1,1) M; TemporalMap(2,2) K; TemporalMap(1,1) N; }");
  DirectiveMachine machine;
  machine.units = 4;
  const DirectiveCost c = evaluate_directives(l, machine);
  EXPECT_EQ(c.multiply_adds, 10);
  EXPECT_DOUBLE_EQ(c.units, (4 + 1) / 2.0);
  EXPECT_EQ(c.input.l2_reads, 10);
}

TEST(DirectiveModel, MoreBandwidthIsNeverSlower) {
  const DirectiveLayer l = layer(
      "Type: CONV Dimensions { K: 64, C: 48, R: 3, S: 3, Y: 30, X: 30 }"
      "Dataflow { SpatialMap(1,1) K; TemporalMap(16,16) C; TemporalMap(3,1) Y; TemporalMap(3,1) X;"
      "           TemporalMap(3,3) R; TemporalMap(3,3) S; Cluster(16, P); SpatialMap(1,1) C; }");
  DirectiveMachine machine;
  double before = 0;
  for (const std::int64_t bandwidth : {1000, 64, 16, 4, 1}) {
    machine.network_bandwidth = machine.offchip_bandwidth = bandwidth;
    const DirectiveCost c = evaluate_directives(l, machine);
    EXPECT_GE(c.cycles, before);
    EXPECT_GE(c.cycles * static_cast<double>(machine.units), c.multiply_adds);
    EXPECT_LE(c.units, static_cast<double>(machine.units));
    EXPECT_EQ(c.multiply_adds, 64.0 * 48 * 9 * 28 * 28);
    before = c.cycles;
  }
}

TEST(Directives, ConstantsAndSizes) {
  const auto layers = read_directive_layers(
      "Constant Tile 8;  // of K\n"
      "Network N { Layer A { Type: DSCONV Stride { X: 2, Y: 2 }\n"
      "  Dimensions { C 16, R 3, S 3, Y 9, X 9 }\n"
      "  Dataflow { SpatialMap (1, 1) C; TemporalMap(Tile+Sz(S)-1, Tile) X'; Cluster(4, P); } } }",
      "map.m");
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].kind, LayerKind::kDepthwise);
  EXPECT_EQ(layers[0].strides[LayerDim::kX], 2);
  EXPECT_EQ(layers[0].sizes[LayerDim::kC], 16);
  ASSERT_EQ(layers[0].dataflow.size(), 3u);
  EXPECT_EQ(layers[0].dataflow[1].size, 10);
  EXPECT_EQ(layers[0].dataflow[1].offset, 8);
  EXPECT_EQ(layers[0].dataflow[1].dim, LayerDim::kOutputX);
  EXPECT_EQ(layers[0].dataflow[2].kind, Directive::Kind::kCluster);
}

TEST(Directives, MessagesNameLineAndWord) {
  const auto read = [](const char* text) { return [=] { read_directive_layers(text, "map.m"); }; };
  EXPECT_THAT(read("Network N {\n Layer A {\n Dataflow { SpatalMap(1,1) C } } }"),
              ThrowsMessage<InputError>(HasSubstr("map.m:3: unknown directive 'SpatalMap'")));
  EXPECT_THAT(read("Network N { Layer A { Dimensions { C: Tiel } } }"),
              ThrowsMessage<InputError>(HasSubstr("'Tiel' is no number and no constant")));
  EXPECT_THAT(read("Network N { Layer A { Dataflow { SpatialMap(Sz(R),1) C } } }"),
              ThrowsMessage<InputError>(HasSubstr("the layer has no dimension R")));
  EXPECT_THAT(read("Network N { Layer A {"), ThrowsMessage<InputError>(HasSubstr("too early")));
}

TEST(Directives, RefusesLevelsThatDoNotWork) {
  const auto evaluate = [](const char* dataflow) {
    return [=] {
      evaluate_directives(
          layer(std::string("Type: GEMM Dimensions { M: 4, N: 4, K: 4 } Dataflow {") + dataflow +
                "}"),
          {});
    };
  };
  EXPECT_THAT(evaluate("TemporalMap(1,1) M;"),
              ThrowsMessage<InputError>(HasSubstr("level 0 has 0 SpatialMaps")));
  EXPECT_THAT(evaluate("SpatialMap(1,1) M; Cluster(8, P); TemporalMap(1,1) M;"),
              ThrowsMessage<InputError>(HasSubstr("level 1 has 0 SpatialMaps")));
  EXPECT_THAT(evaluate("SpatialMap(1,1) M; TemporalMap(1,1) M;"),
              ThrowsMessage<InputError>(HasSubstr("level 0 maps M twice")));
  EXPECT_THAT(evaluate("SpatialMap(1,1) C;"),
              ThrowsMessage<InputError>(HasSubstr("maps C, which the layer does not have")));
  EXPECT_THAT(evaluate("SpatialMap(1,1) M; Cluster(512, P); SpatialMap(1,1) K;"),
              ThrowsMessage<InputError>(HasSubstr("more than the 256 units")));
}

}  // namespace directive_model_test
}  // namespace orrery
