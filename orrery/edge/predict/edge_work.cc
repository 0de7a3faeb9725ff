#include "orrery/edge/predict/edge_work.h"

#include <cstdint>

namespace orrery {
namespace {

enum Kind : std::size_t {
  kWinograd,
  kWinogradData,
  kPointwise,
  kDense,
  kFirst,
  kUnpacked,
  kGrouped,
  kGroups,
  kDepthwise,
  kDepthwiseData,
  kConvolutionData,
  kMatrix,
  kCurve,
  kElement,
  kMove,
  kWindow,
  kLocalNorm,
  kConvolutionStart,
  kOtherStart,
  kUnported,
  kByteWinograd,
  kBytePointwise,
  kByteDense,
  kByteDepthwise,
  kByteMatrix,
  kByteData,
  kByteStart,
};

constexpr std::array<EdgeWorkKind, kEdgeWorkKinds> kKinds = {{
    {"winograd", "MMAC", "3x3 convolutions with stride 1", 30, 0.6, 1},
    {"winograd_data", "M elements", "read and written by them", 150, 10, 0.8},
    {"pointwise", "MMAC", "1x1 convolutions and products of matrices", 50, 1, 1},
    {"dense", "MMAC", "other convolutions of one group", 60, 1.2, 1},
    {"first", "MMAC", "convolutions of pictures of three channels", 80, 2, 1},
    {"unpacked", "MMAC", "convolutions whose channels are no multiple of four", 100, 2, 1},
    {"grouped", "MMAC", "convolutions of groups of several channels", 80, 2, 1},
    {"groups", "groups", "of such convolutions", 0.3, 0.1, 0.8},
    {"depthwise", "MMAC", "depth-wise convolutions", 80, 2, 1},
    {"depthwise_data", "M elements", "read and written by them", 200, 10, 0.8},
    {"convolution_data", "M elements", "read and written by other convolutions", 200, 10, 0.8},
    {"matrix", "M weights", "of fully connected layers, read once", 100, 20, 0.6},
    {"curve", "M elements", "of sigmoids, swishes and other curves", 600, 20, 0.8},
    {"element", "M elements", "of sums, products, activations and norms", 200, 10, 0.8},
    {"move", "M elements", "of copies, permutations, resizes", 200, 10, 0.8},
    {"window", "M elements", "that the windows of pools read", 60, 4, 0.8},
    {"local_norm", "M elements", "of norms by the input: local response, layer, unfolded batch",
     400, 20, 0.8},
    {"convolution_start", "kernels", "convolutions", 5, 20, 0.5},
    {"other_start", "kernels", "other kernels", 5, 20, 0.5},
    {"unported", "kernels", "decoders of boxes and reductions, for which a GPU waits for the cores",
     50, 50, 0.5},
    {"byte_winograd", "MMAC", "as winograd, of bytes", 30, 0.6, 1},
    {"byte_pointwise", "MMAC", "as pointwise, of bytes", 50, 1, 1},
    {"byte_dense", "MMAC", "as all other dense and grouped convolutions, of bytes", 60, 1.2, 1},
    {"byte_depthwise", "MMAC", "as depthwise, of bytes", 80, 2, 1},
    {"byte_matrix", "M weights", "as matrix, of bytes", 50, 10, 0.6},
    {"byte_data", "M elements", "read and written by convolutions of bytes", 300, 15, 0.8},
    {"byte_start", "kernels", "convolutions of bytes", 5, 20, 0.5},
}};

constexpr double kMillion = 1e6;

bool convolves(EdgeFamily f) {
  return f == EdgeFamily::kConvolution || f == EdgeFamily::kGroupedConvolution ||
         f == EdgeFamily::kDepthwise || f == EdgeFamily::kDeconvolution;
}

Kind multiply_add_kind(const EdgeKernel& k, EdgePrecision precision) {
  const bool grouped = k.family == EdgeFamily::kGroupedConvolution;
  const bool depthwise = k.family == EdgeFamily::kDepthwise ||
                         (k.family == EdgeFamily::kDeconvolution && k.groups > 1);
  if (precision == EdgePrecision::kInt8) {
    if (depthwise) return kByteDepthwise;
    return k.winograd() ? kByteWinograd : k.pointwise() ? kBytePointwise : kByteDense;
  }
  if (depthwise) return kDepthwise;
  if (grouped) return kGrouped;
  constexpr std::int64_t kPicture = 3, kPack = 4;
  if (k.out.c % kPack != 0 || (k.in.c % kPack != 0 && k.in.c != kPicture)) return kUnpacked;
  if (k.in.c == kPicture) return kFirst;
  return k.winograd() ? kWinograd : k.pointwise() ? kPointwise : kDense;
}

void add_convolution(const EdgeKernel& k, EdgePrecision precision, double data, EdgeWork& work) {
  const Kind kind = multiply_add_kind(k, precision);
  work[kind] += double(k.macs) / kMillion;
  if (precision == EdgePrecision::kInt8) {
    work[kByteData] += data, work[kByteStart] += 1;
    return;
  }
  work[kind == kWinograd    ? kWinogradData
       : kind == kDepthwise ? kDepthwiseData
                            : kConvolutionData] += data;
  if (kind == kGrouped) work[kGroups] += double(k.groups);
  work[kConvolutionStart] += 1;
}

// A product with a matrix that is used once is bound by reading it, one of many rows is not.
void add_product(const EdgeKernel& k, EdgePrecision precision, double data, EdgeWork& work) {
  work[kOtherStart] += 1;
  const bool bytes = precision == EdgePrecision::kInt8;
  const std::int64_t once = k.weights * k.batch;
  work[bytes ? kByteMatrix : kMatrix] += double(k.weights) / kMillion;
  if (k.macs <= once) return;
  work[bytes ? kBytePointwise : kPointwise] += double(k.macs - once) / kMillion;
  work[bytes ? kByteData : kConvolutionData] += data;
}

bool is_curve(EdgeActivation a) {
  return a == EdgeActivation::kSigmoid || a == EdgeActivation::kSwish ||
         a == EdgeActivation::kGelu || a == EdgeActivation::kTanh || a == EdgeActivation::kElu ||
         a == EdgeActivation::kMish || a == EdgeActivation::kHardSigmoid ||
         a == EdgeActivation::kOther;
}

}  // namespace

std::span<const EdgeWorkKind, kEdgeWorkKinds> edge_work_kinds() { return kKinds; }

EdgeWork work_of(const EdgeKernel& k, EdgePrecision precision) {
  EdgeWork work{};
  const double data = double(k.in_elements + k.out_elements) / kMillion;
  if (convolves(k.family)) {
    add_convolution(k, precision, data, work);
    return work;
  }
  switch (k.family) {
    case EdgeFamily::kInnerProduct:
    case EdgeFamily::kMatMul:
    case EdgeFamily::kAttention:
    case EdgeFamily::kRecurrent:
      add_product(k, precision, data, work);
      return work;
    case EdgeFamily::kDetection:
    case EdgeFamily::kReduce:
      work[kUnported] += 1, work[kElement] += data;
      break;
    case EdgeFamily::kActivation:
      work[is_curve(k.activation) ? kCurve : kElement] += data;
      break;
    case EdgeFamily::kNorm:
      work[kLocalNorm] += data;
      break;
    case EdgeFamily::kPool:
      work[kWindow] += double(k.out_elements * k.kernel.h * k.kernel.w) / kMillion;
      break;
    case EdgeFamily::kConcat:
    case EdgeFamily::kSlice:
    case EdgeFamily::kPermute:
    case EdgeFamily::kShuffle:
    case EdgeFamily::kResize:
    case EdgeFamily::kPad:
    case EdgeFamily::kGather:
      work[kMove] += data;
      break;
    default:
      work[kElement] += data;
  }
  work[kOtherStart] += 1;
  return work;
}

EdgeWork work_of(std::span<const EdgeKernel> kernels, EdgePrecision precision) {
  EdgeWork sum{};
  for (const EdgeKernel& k : kernels) {
    const EdgeWork one = work_of(k, precision);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}

}  // namespace orrery
