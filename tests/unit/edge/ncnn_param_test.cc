#include "orrery/edge/graph/ncnn_param.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "tests/unit/edge/edge_tables.h"

namespace orrery {
namespace ncnn_param_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Shape = std::vector<std::int64_t>;

// A text of these layers, with the counts that it needs.
std::string text_of(const std::vector<std::string>& layers) {
  std::string text = fmt::format("7767517\n{} 99\n", layers.size());
  for (const std::string& layer : layers) text += layer + "\n";
  return text;
}

EdgeGraph graph_of(const std::vector<std::string>& layers) {
  return read_ncnn_param(text_of(layers), "net.param");
}

Shape shape_of(const EdgeGraph& graph, const std::string& tensor) {
  for (const EdgeTensor& t : graph.tensors) {
    if (t.name == tensor) return t.shape;
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return {};
}

// The message with which a text is refused.
std::string refusal(const std::string& text) {
  try {
    read_ncnn_param(text, "net.param");
  } catch (const InputError& e) {
    return e.what();
  }
  return "no refusal";
}
std::string refused(const std::vector<std::string>& layers) { return refusal(text_of(layers)); }

const std::string kInput = "Input data 0 1 data 0=8 1=6 2=4";  // 4 channels of 6 rows of 8

// The example of ncnn's documentation of the format.
TEST(NcnnParam, ReadsTheDocumentedExample) {
  const EdgeGraph graph = read_ncnn_param(
      "7767517\n3 3\nInput         input    0 1 data 0=4 1=4 2=1\n"
      "InnerProduct  ip       1 1 data fc 0=10 1=1 2=160\nSoftmax       softmax  1 1 fc prob 0=0\n",
      "net.param");
  EXPECT_EQ(shape_of(graph, "data"), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(shape_of(graph, "prob"), (Shape{1, 10}));
  EXPECT_EQ(graph.macs(), 160);
  EXPECT_EQ(graph.weights(), 160);
  EXPECT_EQ(graph.parameters(), 170);  // with ten biases
  EXPECT_EQ(graph.lowered_for, "ncnn");
  EXPECT_EQ(graph.nodes[1].op, EdgeOp::kSoftmax);
}

TEST(NcnnParam, ConvolutionsByHand) {
  // 5 wide, 3 high, stride 2 down only, padding 2 left and right, 1 above and below: 6 x 8 -> 3 x
  // 8.
  const EdgeGraph graph =
      graph_of({kInput, "Convolution c 1 1 data c 0=10 1=5 11=3 13=2 4=2 14=1 5=1 6=600 9=3"});
  EXPECT_EQ(shape_of(graph, "c"), (Shape{1, 10, 3, 8}));
  EXPECT_EQ(graph.macs(), 600 * 3 * 8);
  EXPECT_EQ(graph.nodes[0].activation, EdgeActivation::kRelu6);
  EXPECT_EQ(graph.nodes[0].kernel, (EdgeWindow{3, 5}));

  // Dilation 2 makes 3 positions 5 wide; -233 keeps the size over the stride, rounded up.
  EXPECT_EQ(shape_of(graph_of({kInput, "Convolution c 1 1 data c 0=1 1=3 2=2 6=36"}), "c"),
            (Shape{1, 1, 2, 4}));
  EXPECT_EQ(shape_of(graph_of({kInput, "Convolution c 1 1 data c 0=1 1=3 3=4 4=-233 6=36"}), "c"),
            (Shape{1, 1, 2, 2}));

  const EdgeGraph depthwise =
      graph_of({kInput, "ConvolutionDepthWise c 1 1 data c 0=4 1=3 4=1 6=36 7=4"});
  EXPECT_EQ(depthwise.macs(), 36 * 48);
  EXPECT_TRUE(depthwise.nodes[0].depthwise(4));
}

TEST(NcnnParam, TransposedConvolutionsByHand) {
  // (6 - 1) * 2 + 4 - 2 = 12 rows; each output pixel meets each weight of its group.
  const EdgeGraph graph = graph_of({kInput, "Deconvolution d 1 1 data d 0=2 1=4 3=2 4=1 6=128"});
  EXPECT_EQ(shape_of(graph, "d"), (Shape{1, 2, 12, 16}));
  EXPECT_EQ(graph.macs(), 128 * 12 * 16);
}

TEST(NcnnParam, PoolsByHand) {
  const auto pooled = [](const std::string& keys) {
    return shape_of(graph_of({kInput, "Pooling p 1 1 data p " + keys}), "p");
  };
  EXPECT_EQ(pooled("0=0 1=3 2=2"), (Shape{1, 4, 3, 4}));  // full: the last window reaches beyond
  EXPECT_EQ(pooled("0=0 1=3 2=2 5=1"), (Shape{1, 4, 2, 3}));  // valid
  EXPECT_EQ(pooled("0=0 1=3 2=3 5=2"), (Shape{1, 4, 2, 3}));  // same
  EXPECT_EQ(pooled("0=1 4=1"), (Shape{1, 4}));
  EXPECT_EQ(pooled("0=1 7=1 8=2 18=3"), (Shape{1, 4, 3, 2}));
}

// The block of squeeze and excitation as ncnn's mobilenet_v3.param has it: the gate is a vector
// that is reshaped to 4 channels of one pixel, then spread over the image.
TEST(NcnnParam, SqueezeAndExcitation) {
  const EdgeGraph graph =
      graph_of({kInput, "Split s 1 2 data data_0 data_1", "Pooling p 1 1 data_1 p 0=1 4=1",
                "Reshape r 1 1 p r 0=4", "InnerProduct a 1 1 r a 0=2 1=1 2=8 9=1",
                "InnerProduct b 1 1 a b 0=4 1=1 2=8", "HardSigmoid h 1 1 b h",
                "Reshape g 1 1 h g 0=1 1=1 2=4", "BinaryOp m 2 1 data_0 g m 0=2"});
  EXPECT_EQ(shape_of(graph, "g"), (Shape{1, 4, 1, 1}));
  EXPECT_EQ(shape_of(graph, "m"), (Shape{1, 4, 6, 8}));
  EXPECT_FALSE(graph.nodes.back().adds);
  EXPECT_EQ(graph.outputs, (std::vector<int>{graph.nodes.back().outputs[0]}));
}

// The layers are those of ncnn's detectors: slices of ShuffleNet, crops and resizes of NanoDet, and
// the heads of SSD.
TEST(NcnnParam, ShapesOfDetectors) {
  const EdgeGraph graph =
      graph_of({kInput, "Split s 1 6 data d0 d1 d2 d3 d4 d5", "ShuffleChannel f 1 1 d0 f 0=2",
                "Slice sl 1 2 f left right -23300=2,1,-233 1=0",
                "Crop c 1 1 d1 c -23309=1,3 -23310=1,2147483647 -23311=1,0",
                "Interp up 1 1 d2 up 0=2 1=2.0 2=2.0", "Permute pm 1 1 d3 pm 0=3",
                "Flatten fl 1 1 pm fl", "Reshape rs 1 1 fl rs 0=2 1=-1", "Softmax sm 1 1 rs sm 0=1",
                "PriorBox pb 2 1 d4 d5 pb -23300=1,30.0 -23301=0 -23302=1,2.0 7=1",
                "DetectionOutput det 2 1 sm pb out 0=2"});
  EXPECT_EQ(shape_of(graph, "left"), (Shape{1, 1, 6, 8}));
  EXPECT_EQ(shape_of(graph, "right"), (Shape{1, 3, 6, 8}));
  EXPECT_EQ(shape_of(graph, "c"), (Shape{1, 1, 6, 8}));
  EXPECT_EQ(shape_of(graph, "up"), (Shape{1, 4, 12, 16}));
  EXPECT_EQ(shape_of(graph, "pm"), (Shape{1, 6, 8, 4}));  // channels become the innermost axis
  EXPECT_EQ(shape_of(graph, "rs"), (Shape{1, 96, 2}));
  EXPECT_EQ(shape_of(graph, "pb"), (Shape{1, 2, 4 * 6 * 8 * 3}));  // one size, ratios 1, 2 and 1/2
  EXPECT_TRUE(graph.tensors.back().dynamic);
  EXPECT_EQ(unknown_ops_note(graph), "");
}

TEST(NcnnParam, TransformersByHand) {
  const EdgeGraph graph =
      graph_of({"Input data 0 1 data 0=8 1=5", "MultiHeadAttention a 1 1 data a 0=8 1=2 2=64",
                "LayerNorm n 1 1 a n 0=8 1=0.001", "Gemm g 1 1 n g 2=0 3=1 5=1 6=1 8=16 9=8 10=4",
                "GELU e 1 1 g e"});
  EXPECT_EQ(shape_of(graph, "e"), (Shape{1, 5, 16}));
  // Four projections of 5 rows, then scores and values over 5 x 5 pairs; 5 x 8 x 16 of the Gemm.
  EXPECT_EQ(graph.nodes[0].macs, 4 * 64 * 5 + 2 * 5 * 5 * 8);
  EXPECT_EQ(graph.nodes[2].macs, 5 * 8 * 16);
  EXPECT_EQ(graph.nodes[2].parameters, 8 * 16 + 16);
  EXPECT_EQ(graph.nodes[1].parameters, 16);
}

TEST(NcnnParam, ReductionsCountAxesWithOrWithoutTheBatch) {
  EXPECT_EQ(
      shape_of(graph_of({kInput, "Reduction r 1 1 data r 0=3 1=0 -23303=2,1,2 4=1 5=1"}), "r"),
      (Shape{1, 4, 1, 1}));
  EXPECT_EQ(shape_of(graph_of({kInput, "Reduction r 1 1 data r 0=3 1=0 -23303=2,2,3 4=1"}), "r"),
            (Shape{1, 4, 1, 1}));
  EXPECT_EQ(shape_of(graph_of({kInput, "Reduction r 1 1 data r 0=3"}), "r"), (Shape{1, 1}));
}

TEST(NcnnParam, ShapeOfTheInputCanBeGiven) {
  const std::vector<std::string> layers = {"Input data 0 1 data", "ReLU r 1 1 data r"};
  EXPECT_THAT(refused(layers), AllOf(HasSubstr("net.param:3: "), HasSubstr("declares no shape")));
  const EdgeGraph graph = read_ncnn_param(text_of(layers), "net.param", NcnnShape{8, 6, 4});
  EXPECT_EQ(shape_of(graph, "r"), (Shape{1, 4, 6, 8}));
}

TEST(NcnnParam, UnknownLayersAreNamedWithTheirShare) {
  const EdgeGraph graph = graph_of(
      {kInput, "Split s 1 2 data a b", "Wobble w 1 1 a w 0=3", "ReLU r 1 1 w r", "ReLU q 1 1 b q"});
  EXPECT_THAT(unknown_ops_note(graph), AllOf(HasSubstr("1 of 4 nodes"), HasSubstr("Wobble 1")));
  EXPECT_TRUE(graph.tensors[static_cast<std::size_t>(graph.nodes[2].outputs[0])].dynamic);
  EXPECT_EQ(graph.written_elements(), 4 * 6 * 8);
}

TEST(NcnnParam, RefusesWithOneMessage) {
  EXPECT_THAT(refusal(""), HasSubstr("expected ncnn's magic number"));
  EXPECT_THAT(refusal("7767518\n1 1\n"), HasSubstr("expected ncnn's magic number"));
  EXPECT_THAT(refusal("7767517\n"), HasSubstr("numbers of layers"));
  EXPECT_THAT(refusal("7767517\n3 3\n" + kInput + "\n"), HasSubstr("2 more layers than lines"));
  EXPECT_THAT(refusal("7767517\n1 3\n" + kInput + "\nReLU r 1 1 data r\n"),
              HasSubstr("more lines than layers"));
  EXPECT_THAT(refused({"ReLU r 1 1 data r"}), AllOf(HasSubstr("net.param:3: layer 'r' (ReLU)"),
                                                    HasSubstr("before a layer writes")));
  EXPECT_THAT(refused({kInput, "ReLU r 1 1 data data"}), HasSubstr("written twice"));
  EXPECT_THAT(refused({kInput, "ReLU r 1 999999999999 data r"}), HasSubstr("outputs on a line"));
  EXPECT_THAT(refused({kInput, "ReLU r 1 1 data r 0"}), HasSubstr("expected key=value"));
  EXPECT_THAT(refused({kInput, "ReLU r 1 1 data r 0=1 0=2"}), HasSubstr("given twice"));
  EXPECT_THAT(refused({kInput, "Slice r 1 1 data r -23300=9,1"}), HasSubstr("9 values and has 1"));
  EXPECT_THAT(refused({kInput, "Convolution c 1 1 data c 0=1 1=3 6=35"}),
              HasSubstr("35 weights, and its shapes need 36"));
  EXPECT_THAT(refused({kInput, "Convolution c 1 1 data c 0=1 1=9 6=324"}),
              HasSubstr("a window of 9 positions"));
  EXPECT_THAT(refused({kInput, "Convolution c 1 1 data c 0=1 1=3 3=0 6=36"}),
              HasSubstr("stride 0"));
  EXPECT_THAT(refused({"Input d 0 1 d 0=2147483647 1=2147483647 2=2147483647"}),
              HasSubstr("beyond 2^53"));
  EXPECT_THAT(refused({kInput, "Reshape r 1 1 data r 0=7"}), HasSubstr("a reshape of 1x4x6x8"));
}

// Each product of all 35 networks of the table as a network of one layer. The table has no padding:
// what its shapes need is given.
TEST(NcnnParam, ProductsOfTheWholeTable) {
  NEEDS_EDGE_TABLE("cnn_ops.csv");
  CsvReader csv(edge_table("cnn_ops.csv"));
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
  const auto number = [&](const char* name) {
    const int column = csv.column(name);
    return csv.empty(column) ? 0 : csv.integer(column);
  };
  while (csv.next()) {
    const std::string op(csv.text(csv.column("op")));
    if (number("macs") == 0) continue;
    const bool product = op == "InnerProduct";
    const std::int64_t in_h = number("in_h"), in_w = number("in_w"), out_h = number("out_h"),
                       out_w = number("out_w"), stride = number("stride");
    std::string layer;
    if (product) {
      layer = fmt::format("InnerProduct l 1 1 data l 0={} 2={}", out_w, number("weights"));
    } else {
      const bool transposed = op.starts_with("Deconvolution");
      const auto pads = [&](std::int64_t in, std::int64_t out, std::int64_t kernel) {
        const std::int64_t extent = (kernel - 1) * number("dilation") + 1;
        return transposed ? (in - 1) * stride + extent - out : (out - 1) * stride + extent - in;
      };
      layer =
          fmt::format("{} l 1 1 data l 0={} 1={} 11={} 2={} 3={} 15={} 16={} 6={} 7={}", op,
                      number("out_c"), number("kernel_w"), number("kernel_h"), number("dilation"),
                      stride, pads(in_w, out_w, number("kernel_w")),
                      pads(in_h, out_h, number("kernel_h")), number("weights"), number("groups"));
    }
    const EdgeGraph graph = graph_of(
        {fmt::format("Input data 0 1 data 0={} 1={} 2={}", in_w, in_h, number("in_c")), layer});
    const std::string model(csv.text(csv.column("model")));
    EXPECT_EQ(graph.macs(), number("macs")) << model << ' ' << layer;
    sums[model].first += graph.macs();
  }
  CsvReader models(edge_table("cnn_models.csv"));
  while (models.next()) {
    const std::string model(models.text(models.column("model")));
    EXPECT_EQ(sums[model].first, models.integer(models.column("macs"))) << model;
  }
}

}  // namespace ncnn_param_test
}  // namespace orrery
