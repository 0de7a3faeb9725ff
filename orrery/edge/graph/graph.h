// The graph of a network that runs on phones, boards and laptops: a CNN or a transformer as an
// exporter writes it (ONNX, ncnn's .param) or as an architecture string describes it. A graph has
// tensors with shapes and nodes in the order of execution. A node knows its MACs and weights, and
// nothing of time or of the runtime that executes it: fuse.h makes kernels of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Kinds of computation. edge_op_name() gives the word that answers show.
enum class EdgeOp {
  kConvolution,    // also grouped and depth-wise: EdgeNode::groups
  kDeconvolution,  // transposed convolution
  kInnerProduct,  // a product with constant weights: fully connected, Gemm, MatMul with an initializer
  kMatMul,        // a product of two activations
  kAttention,     // a whole multi-head attention block (ncnn's MultiHeadAttention)
  kRecurrent,     // LSTM, GRU, RNN over a sequence
  kPool,
  kGlobalPool,
  kBatchNorm,    // batch norm at inference: one scale and one bias a channel
  kLayerNorm,    // norms whose statistics depend on the input: layer, group, instance, RMS, MVN
  kLrn,          // local response norm
  kActivation,   // one input, element by element: EdgeNode::activation
  kElementwise,  // two or more inputs, element by element, with broadcasting
  kConcat,
  kSlice,    // parts of a tensor, copied: Slice, Split into parts, Crop
  kPermute,  // an order of axes that moves data
  kShuffle,  // channel shuffle; pixel shuffle (depth to space)
  kResize,
  kPad,
  kGather,  // rows of a table by index: embeddings
  kSoftmax,
  kReduce,     // sums, means, maxima, ArgMax over axes
  kDetection,  // box decoding and non-maximum suppression: work depends on the data
  kCast,       // formats: Cast, QuantizeLinear, DequantizeLinear
  kView,  // no work: Reshape, Flatten, Squeeze, Identity, Dropout, ncnn's Split of one blob to many readers
  kUnknown,  // a type that the readers do not know: EdgeNode::type names it
};
std::string_view edge_op_name(EdgeOp op);

enum class EdgeActivation {
  kNone,
  kRelu,
  kRelu6,  // and other clips to a constant range
  kLeakyRelu,
  kPRelu,
  kSigmoid,
  kHardSigmoid,
  kSwish,
  kHardSwish,
  kGelu,
  kTanh,
  kElu,
  kMish,
  kOther,  // exp, sqrt, abs, ...: one input, element by element
};
std::string_view edge_activation_name(EdgeActivation activation);

struct EdgeTensor {
  std::string name;
  // With the batch as first dimension: {1, channels, height, width} or {1, features}. Empty and
  // `dynamic` where the values of other tensors decide it (detections).
  std::vector<std::int64_t> shape;
  bool dynamic = false;

  std::int64_t elements() const;  // 0 where dynamic
};

// Axes that a window slides over; {1, 1} without one.
struct EdgeWindow {
  std::int64_t h = 1, w = 1;
  bool operator==(const EdgeWindow&) const = default;
};

struct EdgeNode {
  std::string name;
  std::string type;  // in the words of its file: "ConvolutionDepthWise", "Conv"
  EdgeOp op = EdgeOp::kUnknown;
  // Indices into EdgeGraph::tensors of activations only: constants are counted in weights and
  // parameters.
  std::vector<int> inputs, outputs;
  EdgeWindow kernel, stride, dilation;  // of convolutions and pools
  std::int64_t groups = 1;
  // The function of a kActivation; of other nodes what their file says that they end with (ncnn's
  // fused activation_type).
  EdgeActivation activation = EdgeActivation::kNone;
  bool adds = false;            // a kElementwise that only adds (or subtracts) its inputs
  std::int64_t macs = 0;        // multiply-adds of products and convolutions; 0 for all else
  std::int64_t weights = 0;     // elements of the matrices and filters, without biases and norms
  std::int64_t parameters = 0;  // all elements of learned constants: with biases and norms

  // One filter for each channel.
  bool depthwise(std::int64_t channels) const { return groups > 1 && groups == channels; }
};

struct EdgeGraph {
  std::string name;
  // The runtime whose own format the graph was read from, which executes the nodes as they are;
  // empty otherwise. ncnn's tool has already fused what a .param holds.
  std::string lowered_for;
  std::string bundled;  // its name where it is a network of catalog/edge/models; empty otherwise
  bool bytes = false;   // its file says that it computes with bytes (int8)
  std::vector<EdgeTensor> tensors;
  std::vector<EdgeNode> nodes;       // every node behind those that it reads
  std::vector<int> inputs, outputs;  // tensors

  std::int64_t macs() const;
  std::int64_t weights() const;
  std::int64_t parameters() const;
  // Elements of all activations that nodes other than views write.
  std::int64_t written_elements() const;
};

// A line about the nodes whose types the readers do not know: how many of the graph's nodes, of
// which types, and which share of the elements they write. Empty when all are known.
std::string unknown_ops_note(const EdgeGraph& graph);

}  // namespace orrery
