// The parts of an ONNX file that shapes need (onnx.proto3 of github.com/onnx/onnx), as views into
// its bytes. Memory is bounded, whatever the file says: weights are skipped where they lie, and
// files of more than kMostOnnxItems nodes, names, attributes and tensors are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/shape_math.h"

namespace orrery {

inline constexpr std::size_t kMostOnnxItems = 1'000'000;
// The values of a tensor of so many elements are kept, and of so many in all.
// The floats that shapes are computed from are scales and limits, fewer.
inline constexpr std::size_t kMostOnnxFloats = 16;
inline constexpr std::size_t kMostOnnxValues = 4096, kMostOnnxValuesInAll = 4'000'000;

// TensorProto.DataType, as far as values of it are read.
enum OnnxType : int {
  kOnnxFloat = 1,
  kOnnxUint8 = 2,
  kOnnxInt8 = 3,
  kOnnxUint16 = 4,
  kOnnxInt16 = 5,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxBool = 9,
  kOnnxFloat16 = 10,
  kOnnxDouble = 11,
  kOnnxUint32 = 12,
  kOnnxUint64 = 13,
  kOnnxBfloat16 = 16,
};

struct OnnxTensor {
  std::string_view name;
  EdgeDims dims;
  int type = 0;
  // In the order of the dimensions; integers and truth values too.
  std::optional<std::vector<double>> values;
};

struct OnnxAttribute {
  std::string_view name;
  double f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<double> numbers;  // of lists of integers or floats
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string_view name, type, domain;
  std::vector<std::string_view> inputs, outputs;  // an empty name is an input that is not given
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* find(std::string_view attribute) const;
};

struct OnnxDimension {
  std::optional<std::int64_t> size;
  std::string_view symbol;  // where it has no size; may be empty
};

struct OnnxValueInfo {
  std::string_view name;
  int type = 0;
  std::optional<std::vector<OnnxDimension>> shape;  // none for values that are no tensors
};

// Where a node stands in the file. A node is read when it is needed, since the nodes of a large
// model with all their attributes take more than its graph.
struct OnnxNodeBytes {
  std::string_view bytes;
  std::size_t offset = 0;
};

struct OnnxModel {
  std::int64_t opset = 0;  // of the standard's domain
  std::vector<OnnxNodeBytes> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

// InputError with `name` and the byte. Views into `bytes`, which must outlive the model.
OnnxModel parse_onnx(std::string_view bytes, const std::string& name);
// A node of a model that parse_onnx gave, which has read it once.
OnnxNode parse_onnx_node(const OnnxNodeBytes& node, const std::string& name);

}  // namespace orrery
