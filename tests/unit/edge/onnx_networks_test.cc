// Networks of torchvision through ONNX: multiply-adds as the layers were written, parameters as
// torchvision documents them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/onnx_model.h"
#include "tests/unit/edge/torch_networks.h"

namespace orrery {
namespace onnx_networks_test {

TEST(OnnxNetworks, MacsAndParametersAreExact) {
  const auto networks = torch_networks();
  EXPECT_GE(networks.size(), 20u);
  for (const TorchNetwork& network : networks) {
    SCOPED_TRACE(network.name);
    const EdgeGraph graph = read_onnx(network.bytes, network.name);
    EXPECT_EQ(graph.macs(), network.macs);
    EXPECT_EQ(graph.parameters(), network.parameters);
    EXPECT_EQ(unknown_ops_note(graph), "");
    ASSERT_EQ(graph.outputs.size(), 1u);
    EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape,
              (std::vector<std::int64_t>{1, 1000}));
    // torchvision's counter also counts biases and norms for some layers: 2 % is its rounding and
    // those.
    EXPECT_NEAR(static_cast<double>(graph.macs()) / 1e9, network.gflops,
                std::max(0.006, 0.02 * network.gflops));
  }
}

TEST(OnnxNetworks, WorkGrowsWithTheBatchAndParametersDoNot) {
  for (const TorchNetwork& network : torch_networks()) {
    SCOPED_TRACE(network.name);
    OnnxOptions options;
    options.batch = 8;
    const EdgeGraph graph = read_onnx(network.bytes, network.name, options);
    EXPECT_EQ(graph.macs(), 8 * network.macs);
    EXPECT_EQ(graph.parameters(), network.parameters);
  }
}

// Behind fusion a ResNet has its convolutions, sums, pools and the classifier; TensorRT's sums are
// part of convolutions. 53 convolutions, 16 blocks (He et al. 2016, table 1).
TEST(OnnxNetworks, KernelsOfResnet50) {
  for (const TorchNetwork& network : torch_networks()) {
    if (network.name != "resnet50") continue;
    const EdgeGraph graph = read_onnx(network.bytes, network.name);
    EXPECT_EQ(fuse(graph, fusion_rules("tensorrt")).size(), 53u + 2 + 1);
    EXPECT_EQ(fuse(graph, fusion_rules("tflite")).size(), 53u + 16 + 2 + 1);
    EXPECT_EQ(fuse(graph, fusion_rules("ncnn")).size(), 53u + 16 + 16 + 2 + 1);
  }
}

// A constant bias behind MatMul and the parts of GELU: 6 products a layer are all that is left of
// weights.
TEST(OnnxNetworks, KernelsOfAVisionTransformer) {
  for (const TorchNetwork& network : torch_networks()) {
    if (network.name != "vit_b_16") continue;
    const EdgeGraph graph = read_onnx(network.bytes, network.name);
    int products = 0, attention = 0;
    for (const EdgeKernel& k : fuse(graph, fusion_rules("onnxruntime"))) {
      products += k.family == EdgeFamily::kInnerProduct ? 1 : 0;
      attention += k.family == EdgeFamily::kMatMul ? 1 : 0;
      if (k.family == EdgeFamily::kInnerProduct && k.nodes.size() > 1) {
        EXPECT_EQ(k.nodes.size(), 2u);
      }
    }
    EXPECT_EQ(products, 12 * 4 + 1);
    EXPECT_EQ(attention, 12 * 2);
  }
}

}  // namespace onnx_networks_test
}  // namespace orrery
