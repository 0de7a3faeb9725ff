#include "orrery/edge/fusion/fuse.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/edge/graph/ncnn_param.h"

namespace orrery {
namespace fuse_test {

using ::testing::ElementsAre;

// The graph of some layers, as if it came from a format of no runtime.
EdgeGraph graph_of(const std::vector<std::string>& layers) {
  std::string text =
      fmt::format("7767517\n{} 99\nInput data 0 1 data 0=8 1=8 2=4\n", layers.size() + 1);
  for (const std::string& layer : layers) text += layer + "\n";
  EdgeGraph graph = read_ncnn_param(text, "net.param");
  graph.lowered_for = "";
  return graph;
}

// Family, nodes and what is fused of each kernel.
std::vector<std::string> kernels(const EdgeGraph& graph, std::string_view runtime) {
  std::vector<std::string> texts;
  for (const EdgeKernel& k : fuse(graph, fusion_rules(runtime))) {
    std::string text = fmt::format("{}:", edge_family_name(k.family));
    for (const std::string& n : k.nodes) text += " " + n;
    if (k.adds_residual) text += " +residual";
    if (k.activation != EdgeActivation::kNone) {
      text += fmt::format(" [{}]", edge_activation_name(k.activation));
    }
    texts.push_back(text);
  }
  return texts;
}

const std::string kConv = "Convolution conv 1 1 data conv 0=4 1=3 4=1 6=144";

TEST(Fuse, EachNodeIsAKernelWithoutRules) {
  const EdgeGraph graph = graph_of({kConv, "BatchNorm bn 1 1 conv bn 0=4", "ReLU r 1 1 bn r"});
  EXPECT_THAT(kernels(graph, "none"),
              ElementsAre("convolution: conv", "norm: bn", "activation: r [relu]"));
}

TEST(Fuse, BatchNormAndActivationJoinTheConvolution) {
  const EdgeGraph graph = graph_of({kConv, "BatchNorm bn 1 1 conv bn 0=4", "ReLU r 1 1 bn r"});
  for (const char* runtime : {"ncnn", "tflite", "onnxruntime", "tensorrt"}) {
    EXPECT_THAT(kernels(graph, runtime), ElementsAre("convolution: conv bn r [relu]")) << runtime;
  }
  const EdgeKernel k = fuse(graph, fusion_rules("ncnn"))[0];
  EXPECT_EQ(k.in, (EdgeShape{4, 8, 8}));
  EXPECT_EQ(k.macs, 144 * 64);
  EXPECT_EQ(k.weights, 144);
  EXPECT_EQ(k.in_elements, 256);
  EXPECT_EQ(k.out_elements, 256);
  EXPECT_TRUE(k.winograd());
}

TEST(Fuse, OnlyActivationsThatTheRuntimeKnows) {
  const EdgeGraph graph = graph_of({kConv, "HardSwish h 1 1 conv h"});
  EXPECT_THAT(kernels(graph, "ncnn"), ElementsAre("convolution: conv h [hard swish]"));
  EXPECT_THAT(kernels(graph, "tflite"),
              ElementsAre("convolution: conv", "activation: h [hard swish]"));
}

TEST(Fuse, NothingThatIsReadTwiceOrIsAResult) {
  const EdgeGraph twice =
      graph_of({kConv, "Split s 1 2 conv a b", "ReLU r 1 1 a r", "BinaryOp m 2 1 r b m 0=2"});
  EXPECT_THAT(kernels(twice, "ncnn"),
              ElementsAre("convolution: conv", "activation: r [relu]", "elementwise: m"));
  EdgeGraph result = graph_of({kConv, "ReLU r 1 1 conv r"});
  result.outputs.push_back(result.nodes[0].outputs[0]);
  EXPECT_EQ(kernels(result, "ncnn").size(), 2u);
}

// A residual block: conv1 + relu, conv2, sum with the input, relu.
TEST(Fuse, ResidualBlocksByRuntime) {
  const EdgeGraph graph =
      graph_of({"Split s 1 2 data a b", "Convolution c1 1 1 a c1 0=4 1=3 4=1 6=144",
                "ReLU r1 1 1 c1 r1", "Convolution c2 1 1 r1 c2 0=4 1=3 4=1 6=144",
                "Eltwise sum 2 1 b c2 sum 0=1", "ReLU r2 1 1 sum r2"});
  EXPECT_THAT(kernels(graph, "ncnn"), ElementsAre("convolution: c1 r1 [relu]", "convolution: c2",
                                                  "elementwise: sum", "activation: r2 [relu]"));
  EXPECT_THAT(kernels(graph, "tflite"), ElementsAre("convolution: c1 r1 [relu]", "convolution: c2",
                                                    "elementwise: sum r2 [relu]"));
  EXPECT_THAT(kernels(graph, "tensorrt"),
              ElementsAre("convolution: c1 r1 [relu]", "convolution: c2 sum r2 +residual [relu]"));
  EXPECT_EQ(fuse(graph, fusion_rules("tensorrt"))[1].in_elements, 2 * 256);
}

// A sum whose other side is computed behind the convolution cannot be part of it.
TEST(Fuse, SumsJoinTheLaterConvolution) {
  const EdgeGraph graph = graph_of({"Split s 1 2 data a b", "Convolution c 1 1 a c 0=4 1=1 6=16",
                                    "Softmax p 1 1 b p 0=0", "Eltwise sum 2 1 c p sum 0=1"});
  EXPECT_THAT(kernels(graph, "tensorrt"),
              ElementsAre("convolution: c", "softmax: p", "elementwise: sum"));
}

TEST(Fuse, SwishOutOfItsParts) {
  const EdgeGraph graph =
      graph_of({kConv, "Split s 1 2 conv a b", "Sigmoid g 1 1 a g", "BinaryOp m 2 1 b g m 0=2"});
  EXPECT_THAT(kernels(graph, "tensorrt"), ElementsAre("convolution: conv g m [swish]"));
  EXPECT_THAT(kernels(graph, "ncnn"), ElementsAre("convolution: conv", "activation: g m [swish]"));
  EXPECT_THAT(kernels(graph, "tflite"),
              ElementsAre("convolution: conv", "activation: g [sigmoid]", "elementwise: m"));
}

TEST(Fuse, PadsConcatsAndPixels) {
  const EdgeGraph padded = graph_of(
      {"Padding pad 1 1 data pad 0=1 1=1 2=1 3=1", "Convolution c 1 1 pad c 0=4 1=3 6=144"});
  EXPECT_THAT(kernels(padded, "ncnn"), ElementsAre("convolution: pad c"));
  EXPECT_EQ(fuse(padded, fusion_rules("ncnn"))[0].in, (EdgeShape{4, 8, 8}));
  EXPECT_THAT(kernels(padded, "tflite"), ElementsAre("pad: pad", "convolution: c"));

  const EdgeGraph joined = graph_of(
      {"Split s 1 2 data a b", "ReLU r 1 1 a r", "Concat cat 2 1 r b cat 0=0", "ReLU q 1 1 cat q"});
  EXPECT_EQ(kernels(joined, "tensorrt").size(), 2u);
  EXPECT_EQ(kernels(joined, "ncnn").size(), 3u);

  const EdgeGraph pixel = graph_of({"Pooling p 1 1 data p 0=1 4=1", "Reshape r 1 1 p r 0=1 1=1 2=4",
                                    "Convolution c 1 1 r c 0=2 1=1 6=8"});
  EXPECT_THAT(kernels(pixel, "ncnn"), ElementsAre("global pool: p", "inner product: c"));
  EXPECT_THAT(kernels(pixel, "tflite"), ElementsAre("global pool: p", "convolution: c"));
}

TEST(Fuse, FamiliesOfGroupedConvolutions) {
  EXPECT_THAT(kernels(graph_of({"ConvolutionDepthWise c 1 1 data c 0=4 1=3 6=36 7=4"}), "ncnn"),
              ElementsAre("depthwise: c"));
  EXPECT_THAT(kernels(graph_of({"ConvolutionDepthWise c 1 1 data c 0=4 1=3 6=72 7=2"}), "ncnn"),
              ElementsAre("grouped convolution: c"));
}

// A graph out of ncnn's own file is executed as it is; other runtimes still apply their rules.
TEST(Fuse, AFileOfTheRuntimeIsExecutedAsItIs) {
  EdgeGraph graph = graph_of({kConv, "HardSwish h 1 1 conv h"});
  graph.lowered_for = "ncnn";
  EXPECT_EQ(kernels(graph, "ncnn").size(), 2u);
  EXPECT_EQ(kernels(graph, "tensorrt").size(), 1u);
}

TEST(Fuse, MacsAndWeightsAreThoseOfTheGraph) {
  const EdgeGraph graph = graph_of({kConv, "BatchNorm bn 1 1 conv bn 0=4", "Flatten f 1 1 bn f",
                                    "InnerProduct fc 1 1 f fc 0=10 1=1 2=2560"});
  for (const FusionRules& rules : fusion_rules()) {
    std::int64_t macs = 0, weights = 0;
    for (const EdgeKernel& k : fuse(graph, rules)) {
      macs += k.macs;
      weights += k.weights;
    }
    EXPECT_EQ(macs, graph.macs()) << rules.name;
    EXPECT_EQ(weights, graph.weights()) << rules.name;
  }
}

TEST(FusionRules, EachHasASourceAndUnknownNamesAreRefused) {
  for (const FusionRules& rules : fusion_rules()) {
    EXPECT_FALSE(rules.source.empty()) << rules.name;
    EXPECT_EQ(&fusion_rules(rules.name), &rules);
  }
  EXPECT_THROW(fusion_rules("tfllite"), InputError);
}

}  // namespace fuse_test
}  // namespace orrery
