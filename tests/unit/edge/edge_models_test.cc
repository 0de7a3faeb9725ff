// The networks of catalog/edge/models against the table of ncnn's own benchmark (cnn_models.csv,
// cnn_ops.csv): kernel by kernel, and in sum.
#include "orrery/edge/graph/edge_models.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"
#include "tests/unit/edge/edge_tables.h"

namespace orrery {
namespace edge_models_test {

using ::testing::HasSubstr;

std::vector<EdgeKernel> kernels_of(std::string_view model) {
  return fuse(edge_model(Bundle(), model), fusion_rules("ncnn"));
}

TEST(EdgeModels, NamesAreSortedAndAllAreRead) {
  const auto names = edge_model_names(Bundle());
  EXPECT_GE(names.size(), 35u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const EdgeGraph graph = edge_model(Bundle(), name);
    EXPECT_EQ(graph.name, name);
    EXPECT_GT(graph.macs(), 0) << name;
    EXPECT_EQ(unknown_ops_note(graph), "");
    EXPECT_EQ(graph.inputs.size(), 1u);
    EXPECT_EQ(graph.outputs.size(), 1u) << name;
  }
}

TEST(EdgeModels, UnknownNameGivesTheNearest) {
  try {
    edge_model(Bundle(), "resnet51");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'resnet50'"));
  }
}

// Multiply-adds that the papers state: ResNet-50 3.8e9, VGG-16 15.5e9, MobileNet 569e6.
TEST(EdgeModels, MacsOfThePapers) {
  EXPECT_NEAR(static_cast<double>(edge_model(Bundle(), "resnet50").macs()), 3.8e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(edge_model(Bundle(), "vgg16").macs()), 15.5e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(edge_model(Bundle(), "mobilenet").macs()), 569e6, 1e6);
}

// ncnn's int8 files are the same layers with weights of bytes.
TEST(EdgeModels, NetworksOfBytesAreThoseOfFloats) {
  EXPECT_FALSE(edge_model(Bundle(), "resnet50").bytes);
  const EdgeGraph bytes = edge_model(Bundle(), "resnet50_int8");
  EXPECT_TRUE(bytes.bytes);
  EXPECT_EQ(bytes.bundled, "resnet50");
  EXPECT_EQ(bytes.macs(), edge_model(Bundle(), "resnet50").macs());
  EXPECT_THROW(edge_model(Bundle(), "resnet51_int8"), InputError);
}

std::vector<std::string> models_of_table() {
  std::vector<std::string> models;
  CsvReader csv(edge_table("cnn_models.csv"));
  while (csv.next()) models.emplace_back(csv.text(csv.column("model")));
  return models;
}

TEST(EdgeModels, AllModelsOfTheTableAreBundled) {
  NEEDS_EDGE_TABLE("cnn_models.csv");
  EXPECT_THAT(edge_model_names(Bundle()), ::testing::IsSupersetOf(models_of_table()));
  EXPECT_EQ(models_of_table().size(), 35u);
}

// The table has the weights of the convolutions alone, and no MACs, of models whose file declares
// no shape of the input.
std::int64_t convolution_weights(const EdgeGraph& graph) {
  std::int64_t sum = 0;
  for (const EdgeNode& n : graph.nodes) {
    if (n.op == EdgeOp::kConvolution) sum += n.weights;
  }
  return sum;
}

TEST(EdgeModels, TotalsEqualTheTable) {
  NEEDS_EDGE_TABLE("cnn_models.csv");
  std::size_t shapeless = 0;
  CsvReader csv(edge_table("cnn_models.csv"));
  while (csv.next()) {
    const std::string model(csv.text(csv.column("model")));
    const EdgeGraph graph = edge_model(Bundle(), model);
    if (csv.integer(csv.column("kernels_without_shape")) > 1) {
      ++shapeless;
      EXPECT_EQ(convolution_weights(graph), csv.integer(csv.column("weights"))) << model;
      continue;
    }
    EXPECT_EQ(graph.macs(), csv.integer(csv.column("macs"))) << model;
    EXPECT_EQ(graph.weights(), csv.integer(csv.column("weights"))) << model;
  }
  EXPECT_EQ(shapeless, 3u);
}

// ViT-B/32 at 384 pixels: 88.2e6 parameters (torchvision states 88,224,232 at 224 pixels, whose
// 50 positions are 145 here).
TEST(EdgeModels, ParametersOfTheVisionTransformer) {
  EXPECT_NEAR(static_cast<double>(edge_model(Bundle(), "vision_transformer").weights()), 88.2e6,
              0.4e6);
}

std::string row_text(EdgeKernel k) {
  // The table counts one output of a slice, guesses the output of detectors, and has the window of
  // some global pools and the groups of shuffles.
  if (k.family == EdgeFamily::kSlice) k.out_elements = k.in_elements;
  if (k.family == EdgeFamily::kDetection) k.out = {}, k.out_elements = 0;
  if (k.family == EdgeFamily::kGlobalPool) k.kernel = {};
  if (k.family == EdgeFamily::kShuffle) k.groups = 1;
  return fmt::format(
      "{}: {}x{}x{} -> {}x{}x{} kernel {}x{} stride {} groups {} activation {} "
      "weights {} macs {} elements {} {}",
      edge_family_name(k.family), k.in.c, k.in.h, k.in.w, k.out.c, k.out.h, k.out.w, k.kernel.w,
      k.kernel.h, k.stride.w, k.groups, edge_activation_name(k.activation), k.weights, k.macs,
      k.in_elements, k.out_elements);
}

// The part of a row that a model without shapes has.
std::string shapeless_text(EdgeKernel k) {
  if (k.family != EdgeFamily::kConvolution && k.family != EdgeFamily::kDepthwise) k.weights = 0;
  if (k.family == EdgeFamily::kNorm || k.family == EdgeFamily::kElementwise) k.groups = 1;
  k.in = k.out = {}, k.macs = k.in_elements = k.out_elements = 0;
  return row_text(k);
}

// The same of a row of the table, whose words for a family and an activation are ncnn's.
EdgeKernel row_kernel(CsvReader& csv) {
  const auto number = [&](const char* name, std::int64_t otherwise) {
    const int column = csv.column(name);
    return csv.empty(column) ? otherwise : csv.integer(column);
  };
  using F = EdgeFamily;
  const std::map<std::string_view, EdgeFamily> families = {
      {"Convolution", F::kConvolution},
      {"DeconvolutionDepthWise", F::kDeconvolution},
      {"Pooling", F::kPool},
      {"InnerProduct", F::kInnerProduct},
      {"ReLU", F::kActivation},
      {"Swish", F::kActivation},
      {"HardSwish", F::kActivation},
      {"HardSigmoid", F::kActivation},
      {"Sigmoid", F::kActivation},
      {"GELU", F::kActivation},
      {"Reduction", F::kGlobalPool},
      {"Padding", F::kPad},
      {"BatchNorm", F::kNorm},
      {"LayerNorm", F::kNorm},
      {"Gemm", F::kInnerProduct},
      {"MultiHeadAttention", F::kAttention},
      {"Eltwise", F::kElementwise},
      {"BinaryOp", F::kElementwise},
      {"Concat", F::kConcat},
      {"Slice", F::kSlice},
      {"Crop", F::kSlice},
      {"ShuffleChannel", F::kShuffle},
      {"Permute", F::kPermute},
      {"Interp", F::kResize},
      {"Softmax", F::kSoftmax},
      {"PriorBox", F::kDetection},
      {"DetectionOutput", F::kDetection},
      {"YoloDetectionOutput", F::kDetection},
      {"Yolov3DetectionOutput", F::kDetection},
      {"LRN", F::kNorm}};
  using A = EdgeActivation;
  const std::map<std::string_view, EdgeActivation> activations = {
      {"ReLU", A::kRelu},           {"Swish", A::kSwish},
      {"HardSwish", A::kHardSwish}, {"HardSigmoid", A::kHardSigmoid},
      {"Sigmoid", A::kSigmoid},     {"GELU", A::kGelu}};
  const std::map<std::int64_t, EdgeActivation> fused = {
      {0, A::kNone}, {1, A::kRelu}, {2, A::kLeakyRelu}, {4, A::kSigmoid}};
  EdgeKernel k;
  const std::string_view op = csv.text(csv.column("op"));
  k.in = {number("in_c", 1), number("in_h", 1), number("in_w", 1)};
  k.out = {number("out_c", 1), number("out_h", 1), number("out_w", 1)};
  k.kernel = {std::max<std::int64_t>(number("kernel_h", 1), 1),
              std::max<std::int64_t>(number("kernel_w", 1), 1)};
  k.stride.w = number("stride", 1);
  k.groups = number("groups", 1);
  k.family = op == "ConvolutionDepthWise"
                 ? (k.groups == k.in.c ? EdgeFamily::kDepthwise : EdgeFamily::kGroupedConvolution)
                 : families.at(op);
  const bool whole = k.kernel == EdgeWindow{k.in.h, k.in.w} || number("kernel_w", 1) == 0;
  if (k.family == EdgeFamily::kPool && whole) k.family = EdgeFamily::kGlobalPool;
  k.activation =
      activations.contains(op) ? activations.at(op) : fused.at(number("fused_activation", 0));
  k.weights = number("weights", 0);
  k.macs = number("macs", 0);
  k.in_elements = number("in_elems", 0);
  k.out_elements = number("out_elems", 0);
  return k;
}

// A layer of a model without shapes that has one filter for each channel: groups are stated.
EdgeKernel shapeless_kernel(CsvReader& csv) {
  EdgeKernel k = row_kernel(csv);
  if (csv.text(csv.column("op")) == "ConvolutionDepthWise") k.family = EdgeFamily::kDepthwise;
  return k;
}

TEST(EdgeModels, KernelsEqualTheTableRowByRow) {
  NEEDS_EDGE_TABLE("cnn_ops.csv");
  std::map<std::string, std::map<std::int64_t, std::string>> table;
  CsvReader csv(edge_table("cnn_ops.csv"));
  const std::set<std::string> shapeless = {"FastestDet", "blazeface", "vision_transformer"};
  while (csv.next()) {
    const std::string model(csv.text(csv.column("model")));
    // Views are no kernels here; ncnn has no work with them unless their channels are packed.
    const std::string_view op = csv.text(csv.column("op"));
    if (op == "Reshape" || op == "Flatten") continue;
    table[model][csv.integer(csv.column("index"))] = shapeless.contains(model)
                                                         ? shapeless_text(shapeless_kernel(csv))
                                                         : row_text(row_kernel(csv));
  }
  EXPECT_EQ(table.size(), 35u);
  for (const auto& [model, rows] : table) {
    SCOPED_TRACE(model);
    std::vector<std::string> theirs, ours;
    for (const auto& [index, row] : rows) theirs.push_back(row);
    for (const EdgeKernel& k : kernels_of(model))
      ours.push_back(shapeless.contains(model) ? shapeless_text(k) : row_text(k));
    EXPECT_THAT(ours, ::testing::ElementsAreArray(theirs));
  }
}

}  // namespace edge_models_test
}  // namespace orrery
