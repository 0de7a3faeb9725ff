#include "orrery/edge/graph/nas_spaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "tests/unit/edge/edge_tables.h"

namespace orrery {
namespace nas_spaces_test {

const std::string kAllConvolutions =
    "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~"
    "2|";

std::int64_t count(const EdgeGraph& graph, EdgeOp op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [op](const EdgeNode& n) { return n.op == op; });
}

// NAS-Bench-201's own figures for the cell of six 3x3 convolutions: 220.12 million FLOPs (as its
// API calls multiply-adds, which with pools and norms are a little more) and 1.531546 million
// parameters.
TEST(NasBench201, LargestCell) {
  const EdgeGraph graph = nas_bench_201_graph(kAllConvolutions);
  // Stem 16x3x9 at 32x32; 5 cells of 6 convolutions at each of three widths; two reductions;
  // classifier.
  const std::int64_t cells = 3LL * 5 * 6 * (16 * 16 * 9 * 1024);
  const std::int64_t reductions =
      (16 * 32 * 9 + 32 * 32 * 9 + 16 * 32) * 256LL + (32 * 64 * 9 + 64 * 64 * 9 + 32 * 64) * 64LL;
  EXPECT_EQ(graph.macs(), 27 * 16 * 1024 + cells + reductions + 640);
  EXPECT_EQ(graph.parameters(), 1531546);
  EXPECT_EQ(count(graph, EdgeOp::kConvolution), 1 + 90 + 6);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape,
            (std::vector<std::int64_t>{1, 10}));
}

TEST(NasBench201, ZerosAreExecutedOrLeftOut) {
  // The second node has no live edge, and the last one reads the input and the second node.
  const std::string text =
      "|nor_conv_1x1~0|+|none~0|none~1|+|skip_connect~0|none~1|avg_pool_3x3~2|";
  const EdgeGraph executed = nas_bench_201_graph(text, NasZeros::kExecuted);
  const EdgeGraph left_out = nas_bench_201_graph(text, NasZeros::kLeftOut);
  const auto zeros = [](const EdgeGraph& g) {
    return std::count_if(g.nodes.begin(), g.nodes.end(),
                         [](const EdgeNode& n) { return n.type == "Zero"; });
  };
  EXPECT_EQ(zeros(executed), 15 * 3);
  EXPECT_EQ(zeros(left_out), 0);
  // Only stem, reductions and their shortcuts are left of the convolutions.
  EXPECT_EQ(count(left_out, EdgeOp::kConvolution), 1 + 6);
  EXPECT_EQ(count(executed, EdgeOp::kConvolution), 1 + 6 + 15);
  EXPECT_EQ(count(left_out, EdgeOp::kPool), 2);

  const std::string nothing = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
  EXPECT_TRUE(nas_bench_201_graph(nothing, NasZeros::kLeftOut).nodes.empty());
  EXPECT_FALSE(nas_bench_201_graph(nothing, NasZeros::kExecuted).nodes.empty());
}

TEST(NasBench201, AConvolutionOfZerosIsExecutedWhereZerosAreLeftOut) {
  // The first node is zero. The second one is a convolution of it, which the last one pools.
  const std::string used =
      "|none~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|avg_pool_3x3~2|";
  const EdgeGraph graph = nas_bench_201_graph(used, NasZeros::kLeftOut);
  EXPECT_EQ(count(graph, EdgeOp::kConvolution), 1 + 6 + 15);
  EXPECT_EQ(count(graph, EdgeOp::kPool), 2 + 15);
  // Nothing reads the convolution.
  const std::string unused = "|none~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|none~2|";
  EXPECT_EQ(count(nas_bench_201_graph(unused, NasZeros::kLeftOut), EdgeOp::kConvolution), 1 + 6);
  // The last node pools nothing but the convolution of zeros: the network is constant.
  const std::string constant = "|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|avg_pool_3x3~2|";
  EXPECT_TRUE(nas_bench_201_graph(constant, NasZeros::kLeftOut).nodes.empty());
}

TEST(NasBench201, RefusesOtherTexts) {
  for (const char* text :
       {"", "|none~0|", "|none~0|+|none~0|none~1|+|none~0|none~1|none~3|",
        "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|x", "|nope~0|+|none~0|none~1|+|none~0|"}) {
    EXPECT_THROW(nas_bench_201_graph(text), InputError) << text;
  }
}

std::string layers(char choice) {
  std::string text(1, choice);
  for (int i = 1; i < 22; ++i) text += std::string(".") + choice;
  return text;
}

TEST(NasBench201, MessagesShowNoControlCharacters) {
  try {
    nas_bench_201_graph("|\x02\x1b[31m~0|+|none~0|none~1|+|none~0|none~1|none~2|");
    FAIL();
  } catch (const InputError& e) {
    for (const char c : std::string(e.what())) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(Fbnet, BlocksByHand) {
  // Skips with a change of width or a stride are 1x1 convolutions: one a stage but the first.
  const EdgeGraph skips = fbnet_graph(layers('8'));
  EXPECT_EQ(count(skips, EdgeOp::kConvolution), 1 + 6 + 1);
  EXPECT_EQ(skips.macs(), 27 * 16 * 1024 + 16 * 24 * 1024 + 24 * 32 * 256 + 32 * 64 * 64 +
                              64 * 112 * 64 + 112 * 184 * 16 + 184 * 352 * 16 + 352 * 1504 * 16 +
                              150400);
  const EdgeGraph grouped = fbnet_graph(layers('1'));
  EXPECT_EQ(count(grouped, EdgeOp::kShuffle), 22);
  EXPECT_EQ(count(grouped, EdgeOp::kConvolution), 1 + 66 + 1);
  // Residuals where neither stride nor width change: the first stage's one block and three a stage.
  EXPECT_EQ(count(grouped, EdgeOp::kElementwise), 1 + 15);
  // The first block: 16 to 16 channels in two groups, depth-wise 3x3, and back.
  EXPECT_EQ(grouped.nodes[3].macs, 16 * 8 * 1024);
  EXPECT_EQ(grouped.nodes[7].macs, 16 * 9 * 1024);
}

// Wu et al. give 375 million for FBNet-C; the largest choice of all layers is above, the smallest
// below.
TEST(Fbnet, ImageNetIsOfThePublishedSize) {
  EXPECT_GT(fbnet_graph(layers('7'), FbnetImages::kImageNet).macs(), 375'000'000);
  EXPECT_LT(fbnet_graph(layers('0'), FbnetImages::kImageNet).macs(), 375'000'000);
}

TEST(Fbnet, RefusesOtherTexts) {
  EXPECT_THROW(fbnet_graph(""), InputError);
  EXPECT_THROW(fbnet_graph(layers('9')), InputError);
  EXPECT_THROW(fbnet_graph(layers('1') + ".1"), InputError);
  EXPECT_THROW(fbnet_graph(layers('1').substr(2)), InputError);
  EXPECT_THROW(fbnet_graph(layers('1') + "."), InputError);
}

TEST(NasSpaces, AllOfTheTableAreRead) {
  EXPECT_THROW(nas_graph("nasbench101", "x"), InputError);
  NEEDS_EDGE_TABLE("cnn_nas.csv.gz");
  CsvReader csv(edge_table("cnn_nas.csv.gz"));
  int rows = 0;
  while (csv.next()) {
    ++rows;
    const EdgeGraph graph = nas_graph(csv.text(csv.column("space")), csv.text(csv.column("arch")));
    ASSERT_GT(graph.macs(), 0);
  }
  EXPECT_EQ(rows, 1787);
}

}  // namespace nas_spaces_test
}  // namespace orrery
