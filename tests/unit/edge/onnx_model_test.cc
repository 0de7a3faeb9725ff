#include "orrery/edge/graph/onnx_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/edge/graph/edge_models.h"
#include "tests/unit/edge/onnx_writer.h"

namespace orrery {
namespace onnx_model_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Field = OnnxField;

OnnxSizes shape_of(const EdgeGraph& graph, const std::string& tensor) {
  for (const EdgeTensor& t : graph.tensors) {
    if (t.name == tensor) return t.shape;
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return {};
}

EdgeGraph graph_of(const OnnxWriter& out, std::int64_t opset = 17) {
  return read_onnx(out.bytes(opset), "net.onnx");
}

std::string refusal(const std::string& bytes, const OnnxOptions& options = {}) {
  try {
    read_onnx(bytes, "net.onnx", options);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no refusal";
}

// A model with an image of 4 x 6 x 8.
OnnxWriter image() {
  OnnxWriter out;
  out.input("x", {-1, 4, 6, 8});
  return out;
}

// The shape that one node makes of the image, and the operator that it is.
OnnxSizes made(const std::string& type, const std::vector<Field>& fields,
               const std::vector<std::pair<std::string, OnnxSizes>>& lists = {},
               std::int64_t opset = 17) {
  OnnxWriter out = image();
  std::vector<std::string> inputs = {"x"};
  for (const auto& [name, values] : lists) {
    inputs.push_back(name);
    if (!name.empty()) out.list(name, values);
  }
  out.node(type, inputs, {"y"}, fields);
  out.output("y");
  return shape_of(graph_of(out, opset), "y");
}

TEST(OnnxModel, ConvolutionByHand) {
  OnnxWriter out = image();
  out.weight("w", {10, 2, 3, 5});
  out.weight("b", {10});
  out.node("Conv", {"x", "w", "b"}, {"y"},
           {Field::integer("group", 2), Field::integers("pads", {1, 2, 0, 2}),
            Field::integers("strides", {2, 1}), Field::integers("dilations", {1, 2})});
  out.output("y");
  const EdgeGraph graph = graph_of(out);
  // Rows: (6 + 1 - 3) / 2 + 1 = 3; columns: 8 + 4 - 9 + 1 = 4.
  EXPECT_EQ(shape_of(graph, "y"), (OnnxSizes{1, 10, 3, 4}));
  EXPECT_EQ(graph.macs(), 10 * 2 * 15 * 12);
  EXPECT_EQ(graph.weights(), 300);
  EXPECT_EQ(graph.parameters(), 310);
  const EdgeNode& n = graph.nodes[0];
  EXPECT_EQ(n.kernel, (EdgeWindow{3, 5}));
  EXPECT_EQ(n.stride, (EdgeWindow{2, 1}));
  EXPECT_EQ(n.dilation, (EdgeWindow{1, 2}));
  EXPECT_EQ(n.groups, 2);
  EXPECT_EQ(n.inputs, graph.inputs);  // constants are no inputs
}

TEST(OnnxModel, TransposedConvolutionAndQuantized) {
  OnnxWriter out = image();
  out.weight("w", {4, 3, 2, 2});
  out.node("ConvTranspose", {"x", "w"}, {"y"},
           {Field::integers("strides", {2, 2}), Field::integers("output_padding", {1, 0})});
  out.output("y");
  EXPECT_EQ(shape_of(graph_of(out), "y"), (OnnxSizes{1, 3, 13, 16}));
  EXPECT_EQ(graph_of(out).macs(), 48 * 13 * 16);

  OnnxWriter quantized = image();
  for (const char* scale : {"xs", "ws", "ys"}) quantized.weight(scale, {}, std::string(4, 1));
  quantized.weight("w", {2, 4, 1, 1});
  quantized.node("QuantizeLinear", {"x", "xs"}, {"q"});
  quantized.node("QLinearConv", {"q", "xs", "", "w", "ws", "", "ys", ""}, {"y"});
  quantized.output("y");
  EXPECT_EQ(shape_of(graph_of(quantized), "y"), (OnnxSizes{1, 2, 6, 8}));
  EXPECT_EQ(graph_of(quantized).macs(), 8 * 48);
}

// Weights in eight bits behind DequantizeLinear are weights all the same.
TEST(OnnxModel, ConstantsAreFolded) {
  OnnxWriter out;
  out.input("x", {-1, 7});
  out.weight("q", {5, 7});
  out.weight("scale", {}, std::string(4, 1));
  out.node("DequantizeLinear", {"q", "scale"}, {"d"});
  out.node("Transpose", {"d"}, {"w"});
  out.node("MatMul", {"x", "w"}, {"y"});
  out.output("y");
  const EdgeGraph graph = graph_of(out);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, EdgeOp::kInnerProduct);
  EXPECT_EQ(graph.macs(), 35);
  EXPECT_EQ(graph.parameters(), 35);
}

TEST(OnnxModel, ASharedWeightIsCountedOnce) {
  OnnxWriter out;
  out.input("x", {-1, 7});
  out.weight("w", {7, 7});
  out.node("MatMul", {"x", "w"}, {"y"});
  out.node("MatMul", {"y", "w"}, {"z"});
  out.output("z");
  EXPECT_EQ(graph_of(out).parameters(), 49);
  EXPECT_EQ(graph_of(out).weights(), 98);  // read twice
}

TEST(OnnxModel, ShapesOfSingleNodes) {
  const OnnxSizes none;
  EXPECT_EQ(made("Flatten", {Field::integer("axis", 2)}), (OnnxSizes{4, 48}));
  EXPECT_EQ(made("Transpose", {Field::integers("perm", {0, 2, 3, 1})}), (OnnxSizes{1, 6, 8, 4}));
  EXPECT_EQ(made("Reshape", {}, {{"s", {0, -1, 8}}}), (OnnxSizes{1, 24, 8}));
  EXPECT_EQ(made("Squeeze", {Field::integers("axes", {0})}, {}, 11), (OnnxSizes{4, 6, 8}));
  EXPECT_EQ(made("Squeeze", {}, {{"a", {0}}}), (OnnxSizes{4, 6, 8}));
  EXPECT_EQ(made("Unsqueeze", {}, {{"a", {-1, 1}}}), (OnnxSizes{1, 1, 4, 6, 8, 1}));
  EXPECT_EQ(made("Slice", {}, {{"b", {1, -3}}, {"e", {INT64_MAX, INT64_MAX}}, {"a", {1, 3}}}),
            (OnnxSizes{1, 3, 6, 3}));
  EXPECT_EQ(made("Slice", {}, {{"b", {-1}}, {"e", {INT64_MIN}}, {"a", {3}}, {"s", {-3}}}),
            (OnnxSizes{1, 4, 6, 3}));  // 7, 4, 1
  EXPECT_EQ(made("Slice",
                 {Field::integers("starts", {2}), Field::integers("ends", {4}),
                  Field::integers("axes", {3})},
                 {}, 9),
            (OnnxSizes{1, 4, 6, 2}));
  EXPECT_EQ(made("Gather", {Field::integer("axis", 2)}, {{"i", {5, 0}}}), (OnnxSizes{1, 4, 2, 8}));
  EXPECT_EQ(made("Pad", {}, {{"p", {0, 0, 1, 2, 0, 0, 3, 4}}}), (OnnxSizes{1, 4, 10, 14}));
  EXPECT_EQ(made("Resize", {}, {{"", none}, {"", none}, {"s", {1, 4, 12, 20}}}),
            (OnnxSizes{1, 4, 12, 20}));
  EXPECT_EQ(made("Expand", {}, {{"s", {3, 1, 1, 1}}}), (OnnxSizes{3, 4, 6, 8}));
  EXPECT_EQ(made("Tile", {}, {{"r", {2, 1, 1, 3}}}), (OnnxSizes{2, 4, 6, 24}));
  EXPECT_EQ(made("DepthToSpace", {Field::integer("blocksize", 2)}), (OnnxSizes{1, 1, 12, 16}));
  EXPECT_EQ(made("SpaceToDepth", {Field::integer("blocksize", 2)}), (OnnxSizes{1, 16, 3, 4}));
  EXPECT_EQ(made("ReduceMean", {Field::integers("axes", {-1, -2})}), (OnnxSizes{1, 4, 1, 1}));
  EXPECT_EQ(made("ReduceSum", {Field::integer("keepdims", 0)}, {{"a", {1}}}), (OnnxSizes{1, 6, 8}));
  EXPECT_EQ(made("ArgMax", {Field::integer("axis", 1), Field::integer("keepdims", 0)}),
            (OnnxSizes{1, 6, 8}));
  EXPECT_EQ(made("TopK", {Field::integer("axis", 3)}, {{"k", {5}}}), (OnnxSizes{1, 4, 6, 5}));
  EXPECT_EQ(made("GlobalAveragePool", {}), (OnnxSizes{1, 4, 1, 1}));
  EXPECT_EQ(made("MaxPool", {Field::integers("kernel_shape", {3, 3}),
                             Field::integers("strides", {2, 2}), Field::integer("ceil_mode", 1)}),
            (OnnxSizes{1, 4, 3, 4}));
  EXPECT_EQ(made("AveragePool",
                 {Field::integers("kernel_shape", {3, 3}), Field::integers("strides", {4, 4}),
                  Field::text("auto_pad", "SAME_UPPER")}),
            (OnnxSizes{1, 4, 2, 2}));
}

TEST(OnnxModel, SplitsAndSums) {
  OnnxWriter out = image();
  out.node("Split", {"x"}, {"a", "b", "c"}, {Field::integer("axis", 3)});
  out.list("sizes", {1, 3});
  out.node("Split", {"a", "sizes"}, {"d", "e"}, {Field::integer("axis", 1)});
  out.weight("bias", {4, 1, 1});
  out.node("Add", {"e", "d"}, {"f"});
  out.node("Mul", {"x", "bias"}, {"g"});
  for (const char* o : {"b", "c", "f", "g"}) out.output(o);
  const EdgeGraph graph = graph_of(out);
  EXPECT_EQ(shape_of(graph, "b"), (OnnxSizes{1, 4, 6, 3}));
  EXPECT_EQ(shape_of(graph, "c"), (OnnxSizes{1, 4, 6, 2}));  // what is left of 8
  EXPECT_EQ(shape_of(graph, "f"), (OnnxSizes{1, 3, 6, 3}));
  EXPECT_EQ(graph.parameters(), 4);
  EXPECT_EQ(graph.outputs.size(), 4u);
}

// The flattening that PyTorch exports: the batch out of the shape, the rest multiplied out.
TEST(OnnxModel, ShapesAreWorkedOut) {
  OnnxWriter out = image();
  out.list("zero", {0});
  out.list("one", {1});
  out.list("two", {2});
  out.list("four", {4});
  out.node("Shape", {"x"}, {"shape"});
  out.node("Slice", {"shape", "zero", "one"}, {"batch"});
  out.node("Slice", {"shape", "two", "four"}, {"area"});
  out.node("ReduceProd", {"area"}, {"pixels"}, {Field::integer("keepdims", 1)});
  out.node("Mul", {"pixels", "two"}, {"twice"});
  out.node("Div", {"twice", "four"}, {"half"});
  out.node("Cast", {"half"}, {"float"}, {Field::integer("to", 1)});
  out.node("Floor", {"float"}, {"floor"});
  out.node("Cast", {"floor"}, {"whole"}, {Field::integer("to", 7)});
  out.list("open", {-1});
  out.node("Concat", {"batch", "open", "whole"}, {"wanted"}, {Field::integer("axis", 0)});
  out.node("ConstantOfShape", {"wanted_rank"}, {"ones"},
           {Field::tensor("value", OnnxWriter::integers("", {1}))});
  out.list("wanted_rank", {3});
  out.node("Equal", {"wanted", "ones"}, {"is_one"});
  out.node("Where", {"is_one", "ones", "wanted"}, {"chosen"});
  out.node("Reshape", {"x", "chosen"}, {"y"});
  out.output("y");
  const EdgeGraph graph = graph_of(out);
  EXPECT_EQ(shape_of(graph, "y"), (OnnxSizes{1, 8, 24}));
  EXPECT_EQ(graph.nodes.size(), 1u);  // the arithmetic leaves nothing to execute
}

TEST(OnnxModel, SymbolsOfInputs) {
  OnnxWriter out;
  out.input("ids", {-1, -2}, 7);
  out.weight("table", {100, 16});
  out.node("Gather", {"table", "ids"}, {"y"});
  out.output("y");
  EXPECT_THAT(refusal(out.bytes()), AllOf(HasSubstr("net.onnx: input 'ids'"), HasSubstr("'S'")));
  OnnxOptions options;
  options.batch = 3;
  options.dimensions = {{"S", 128}};
  const EdgeGraph graph = read_onnx(out.bytes(), "net.onnx", options);
  EXPECT_EQ(shape_of(graph, "y"), (OnnxSizes{3, 128, 16}));
  EXPECT_EQ(graph.parameters(), 1600);
  options.dimensions["S"] = 0;
  EXPECT_THAT(refusal(out.bytes(), options), HasSubstr("of 0"));
}

TEST(OnnxModel, NodesInAnyOrder) {
  OnnxWriter out = image();
  out.node("Relu", {"b"}, {"c"});
  out.node("Relu", {"a"}, {"b"});
  out.node("Relu", {"x"}, {"a"});
  out.output("c");
  const EdgeGraph graph = graph_of(out);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[0].name, "a");
  EXPECT_EQ(graph.nodes[2].name, "c");
}

TEST(OnnxModel, UnknownTypesAreNamedAndStatedShapesKept) {
  OnnxWriter out = image();
  out.node("Wobble", {"x"}, {"a"});
  out.stated("a", {1, 4, 6, 8});
  out.node("Relu", {"a"}, {"b"});
  out.node("Wobble", {"b"}, {"c"});
  out.node("Relu", {"c"}, {"d"}, {}, "my.domain");
  out.output("d");
  const EdgeGraph graph = graph_of(out);
  EXPECT_THAT(unknown_ops_note(graph),
              AllOf(HasSubstr("3 of 4 nodes"), HasSubstr("Relu 1, Wobble 2"), HasSubstr("50.0 %")));
  EXPECT_EQ(shape_of(graph, "b"), (OnnxSizes{1, 4, 6, 8}));
  EXPECT_TRUE(graph.tensors.back().dynamic);
}

TEST(OnnxModel, DataThatDecidesShapes) {
  OnnxWriter out = image();
  out.input("boxes", {1, 10, 4});
  out.node("NonMaxSuppression", {"boxes", "boxes"}, {"kept"});
  out.node("Gather", {"boxes", "kept"}, {"found"});
  out.output("found");
  const EdgeGraph graph = graph_of(out);
  EXPECT_TRUE(graph.tensors.back().dynamic);
  EXPECT_EQ(unknown_ops_note(graph), "");

  OnnxWriter shaped = image();
  shaped.input("shape", {2}, 7);
  shaped.node("Reshape", {"x", "shape"}, {"y"});
  shaped.output("y");
  EXPECT_THAT(refusal(shaped.bytes()), HasSubstr("depends on the values of 'shape'"));
}

TEST(OnnxModel, RecurrentLayers) {
  OnnxWriter out;
  out.input("x", {20, 1, 8});
  out.weight("w", {2, 40, 8});
  out.weight("r", {2, 40, 10});
  out.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"}, {Field::integer("hidden_size", 10)});
  out.output("y");
  const EdgeGraph graph = graph_of(out);
  EXPECT_EQ(shape_of(graph, "y"), (OnnxSizes{20, 2, 1, 10}));
  EXPECT_EQ(graph.macs(), 20 * 2 * 40 * 18);
}

TEST(OnnxModel, RefusesWithOneMessage) {
  EXPECT_THAT(refusal(""), HasSubstr("no ONNX model"));
  EXPECT_THAT(refusal("not a model"), HasSubstr("net.onnx: byte"));
  const std::string whole = [] {
    OnnxWriter out = image();
    out.node("Relu", {"x"}, {"y"});
    out.output("y");
    return out.bytes();
  }();
  EXPECT_EQ(refusal(whole), "no refusal");
  for (std::size_t cut = 1; cut + 1 < whole.size(); ++cut) {
    EXPECT_THAT(refusal(whole.substr(0, cut)), HasSubstr("net.onnx: ")) << cut;
  }

  OnnxWriter old = image();
  EXPECT_THAT(refusal(old.bytes(6)), HasSubstr("opset 6; 7 to 21 are read"));
  EXPECT_THAT(refusal(old.bytes(22)), HasSubstr("opset 22"));

  OnnxWriter cycle = image();
  cycle.node("Add", {"x", "c"}, {"a"});
  cycle.node("Relu", {"a"}, {"c"});
  cycle.output("c");
  EXPECT_THAT(refusal(cycle.bytes()), HasSubstr("form a cycle"));

  OnnxWriter missing = image();
  missing.node("Add", {"x", "nowhere"}, {"a"});
  EXPECT_THAT(refusal(missing.bytes()), HasSubstr("reads 'nowhere', which nothing writes"));

  OnnxWriter twice = image();
  twice.node("Relu", {"x"}, {"a"});
  twice.node("Relu", {"x"}, {"a"});
  EXPECT_THAT(refusal(twice.bytes()), HasSubstr("written twice"));

  OnnxWriter result = image();
  result.output("y");
  EXPECT_THAT(refusal(result.bytes()), HasSubstr("'y' is written by nothing"));

  OnnxWriter unfit = image();
  unfit.weight("w", {8, 3, 3, 3});
  unfit.node("Conv", {"x", "w"}, {"y"});
  EXPECT_THAT(refusal(unfit.bytes()),
              AllOf(HasSubstr("node 'y' (Conv)"), HasSubstr("weights 8x3x3x3")));

  OnnxWriter sums = image();
  sums.weight("w", {5});
  sums.node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(refusal(sums.bytes()), HasSubstr("do not fit together"));
}

// Files that claim more than anyone has, or that grow when they are read.
TEST(OnnxModel, AbsurdSizesAreRefused) {
  OnnxWriter huge = image();
  huge.weight("w", {1 << 30, 1 << 30, 3, 3});
  EXPECT_THAT(refusal(huge.bytes()), HasSubstr("beyond 2^53"));

  OnnxWriter negative = image();
  negative.weight("w", {-5});
  EXPECT_THAT(refusal(negative.bytes()), HasSubstr("a size of -5"));

  OnnxWriter short_data = image();
  short_data.weight("w", {100}, "four");
  EXPECT_THAT(refusal(short_data.bytes()), HasSubstr("'w' of 100 elements has 4 bytes"));

  OnnxWriter grown = image();
  grown.list("r", {1, 1 << 30, 1 << 30, 1});
  grown.node("Tile", {"x", "r"}, {"y"});
  EXPECT_THAT(refusal(grown.bytes()), HasSubstr("beyond 2^53"));

  // Each node makes 4,000 numbers out of a few bytes.
  OnnxWriter bomb = image();
  bomb.list("s", {4000});
  for (int i = 0; i < 2000; ++i) bomb.node("ConstantOfShape", {"s"}, {fmt::format("c{}", i)});
  EXPECT_THAT(refusal(bomb.bytes()), HasSubstr("numbers in constants"));

  // Two bytes an empty node.
  WireWriter model, opset;
  opset.integer(2, 17);
  model.text(8, opset.bytes());
  std::string nodes;
  for (int i = 0; i < 1'100'000; ++i) nodes += std::string("\x0a\x00", 2);
  model.text(7, nodes);
  EXPECT_THAT(refusal(model.bytes()), HasSubstr("more than 1000000 nodes"));
}

TEST(OnnxModel, FilesByTheirEnding) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path file = folder / "little.onnx";
  OnnxWriter out = image();
  out.node("Relu", {"x"}, {"y"});
  out.output("y");
  std::ofstream(file, std::ios::binary) << out.bytes();
  EXPECT_EQ(read_edge_graph(file).name, "little");
  EXPECT_THROW(read_edge_graph(folder / "absent.onnx"), InputError);
  EXPECT_THROW(read_edge_graph(folder / "little.tflite"), InputError);
  std::filesystem::remove(file);
}

// An archive of a few bytes can hold gigabytes: none is unpacked.
TEST(OnnxModel, ArchivesAreRefused) {
  const std::filesystem::path folder = testing::TempDir();
  for (const auto& [name, begin, kind] :
       {std::tuple{"packed.onnx", std::string("PK\x03\x04rest"), "a zip archive"},
        std::tuple{"squeezed.onnx", std::string("\x1f\x8b\x08rest"), "a gzip archive"}}) {
    std::ofstream(folder / name, std::ios::binary) << begin;
    try {
      read_edge_graph(folder / name);
      ADD_FAILURE() << name;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(name), HasSubstr(kind), HasSubstr("unpack it")));
    }
    std::filesystem::remove(folder / name);
  }
}

// The weights lie in a file that is not there: nothing of it is needed.
TEST(OnnxModel, ExternalWeightsMayBeAbsent) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "external.onnx";
  OnnxWriter out = image();
  out.weight("w", {8, 4, 3, 3});
  out.node("Conv", {"x", "w"}, {"y"});
  out.output("y");
  std::ofstream(file, std::ios::binary) << out.bytes();
  ASSERT_FALSE(std::filesystem::exists(file.parent_path() / "weights.bin"));
  EXPECT_EQ(read_edge_graph(file).macs(), 8 * 4 * 9 * 4 * 6);
  std::filesystem::remove(file);
}

// A constant that a shape needs must be in the file itself.
TEST(OnnxModel, AnAbsentShapeIsNamed) {
  OnnxWriter out = image();
  out.initializer(OnnxWriter::tensor("size", {2}, 7));
  out.node("Reshape", {"x", "size"}, {"y"});
  out.output("y");
  EXPECT_THAT(refusal(out.bytes()), AllOf(HasSubstr("'y' (Reshape)"), HasSubstr("'size'")));
}

}  // namespace onnx_model_test
}  // namespace orrery
