// One layer of a .param text, and the kinds of layers that are known. Shapes here are those of a
// blob behind a batch of 1: {1, c, h, w}, {1, h, w} or {1, w}.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/edge/graph/graph.h"
#include "orrery/edge/graph/shape_math.h"

namespace orrery {

// The key=value pairs of a layer: numbers, or arrays of numbers.
class NcnnParams {
 public:
  void set(int key, std::vector<double> values);
  bool has(int key) const { return values_.contains(key); }
  // The number of a key, or `otherwise` where the layer does not give it. InputError unless it is
  // an integer that 32 bits hold.
  std::int64_t integer(int key, std::int64_t otherwise) const;
  double number(int key, double otherwise) const;
  std::vector<std::int64_t> integers(int key) const;  // empty where absent
  std::size_t count(int key) const;                   // of an array

 private:
  std::map<int, std::vector<double>> values_;
};

// A layer while its kind works out the shapes of the outputs and what the node holds.
struct NcnnLayer {
  const NcnnParams& params;
  std::vector<EdgeDims> inputs;
  std::size_t output_count = 0;
  EdgeNode& node;
  std::vector<EdgeDims> outputs = {};
  bool dynamic = false;  // the outputs depend on data

  const EdgeDims& input(std::size_t i = 0) const;  // InputError where there is none
  // Sets the matrix elements and the multiply-adds that each of `positions` makes with them, and
  // checks the number of weights that the file gives under `key`.
  void set_weights(std::int64_t weights, std::int64_t positions, int key);
};

struct NcnnKind {
  std::string_view type;
  EdgeOp op;
  EdgeActivation activation;
  void (*apply)(NcnnLayer&);
};

// Nothing where the type is not known. Input and MemoryData are the reader's own.
const NcnnKind* ncnn_kind(std::string_view type);

// The kinds by what they compute.
const std::vector<NcnnKind>& ncnn_product_kinds();
const std::vector<NcnnKind>& ncnn_shape_kinds();

}  // namespace orrery
