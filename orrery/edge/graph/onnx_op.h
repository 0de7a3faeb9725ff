// One node of an ONNX model while the graph is made, and the kinds of nodes that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/graph.h"
#include "orrery/edge/graph/onnx_proto.h"
#include "orrery/edge/graph/shape_math.h"

namespace orrery {

using OnnxNumbers = std::vector<double>;

// The knowledge about one value.
struct OnnxValue {
  EdgeDims shape;
  bool dynamic = false;               // data decides the shape
  bool constant = false;              // no input of the model decides it
  int type = 0;                       // OnnxType
  std::optional<OnnxNumbers> values;  // of small constants
  int tensor = -1;                    // of the graph, where it is no constant
  int origin = -1;                    // of constants: which learned tensor it is, or is made of
  // The inputs that a value which no node writes still is, of nodes that are not made. A value is
  // forgotten at the last one.
  int uses = 0;

  std::int64_t elements() const { return dynamic ? 0 : checked_product(shape); }
};

struct OnnxOp {
  const OnnxNode& source;
  std::int64_t opset;
  std::vector<const OnnxValue*> inputs;  // null where not given
  EdgeNode& node;
  std::vector<OnnxValue> outputs;
  // Inputs that hold what the node has learned.
  std::vector<std::size_t> learned = {};

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const OnnxValue& input(std::size_t i = 0) const;  // InputError where it is not given
  const EdgeDims& shape(std::size_t i = 0) const { return input(i).shape; }
  // The values of a constant input. InputError where they are not known: data decides them, or they
  // are too many.
  const OnnxNumbers& values(std::size_t i) const;
  std::vector<std::int64_t> integers_of(std::size_t i) const;

  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string_view text(std::string_view attribute) const;
  std::vector<std::int64_t> integers(std::string_view attribute) const;  // empty where absent
  // A list that was an attribute before some opset and is an input since; nothing where neither is
  // given.
  std::optional<std::vector<std::int64_t>> list(std::string_view attribute,
                                                std::size_t input) const;

  // Sets the shape of the first output, or of one more.
  OnnxValue& set(EdgeDims shape, std::size_t output = 0);
  // The first output has the shape and the type of the first input.
  void same();
};

struct OnnxKind {
  std::string_view type;
  EdgeOp op;
  EdgeActivation activation;
  void (*apply)(OnnxOp&);
};

// Nothing where the type is not known.
const OnnxKind* onnx_kind(std::string_view type);

// The kinds by what they compute.
const std::vector<OnnxKind>& onnx_window_kinds();
const std::vector<OnnxKind>& onnx_product_kinds();
const std::vector<OnnxKind>& onnx_pointwise_kinds();
const std::vector<OnnxKind>& onnx_move_kinds();
const std::vector<OnnxKind>& onnx_reduce_kinds();
const std::vector<OnnxKind>& onnx_constant_kinds();

// Applies where the result has the shape of the first input.
void onnx_same(OnnxOp& op);

// An integer out of a value that a file states; far beyond any size where the file says so ("to the
// end").
std::int64_t onnx_integer(double value);

}  // namespace orrery
