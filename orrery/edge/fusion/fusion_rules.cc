// The rules by runtime. A further runtime is one more entry.
#include "orrery/base/kinds.h"
#include "orrery/edge/fusion/fuse.h"

namespace orrery {
namespace {

using A = EdgeActivation;

FusionRules no_rules() {
  FusionRules r;
  r.name = "none";
  r.title = "no fusion: each node is a kernel";
  r.source = "by definition";
  r.folds_batch_norm = false;
  r.pads_inside = false;
  return r;
}

FusionRules ncnn_rules() {
  FusionRules r;
  r.name = "ncnn";
  r.title = "ncnn behind ncnnoptimize";
  r.source =
      "github.com/Tencent/ncnn, tools/ncnnoptimize.cpp: fuse_convolution_batchnorm, "
      "fuse_convolution_mul, fuse_convolution_add, fuse_convolution_activation, "
      "fuse_innerproduct_activation, replace_convolution_with_innerproduct_after_global_pooling; "
      "tools/onnx/onnx2ncnn.cpp: fuse_swish; tools/pnnx: fuse_padding_convolution";
  r.after_convolution = {A::kRelu, A::kRelu6, A::kLeakyRelu, A::kSigmoid, A::kMish, A::kHardSwish};
  r.after_inner_product = r.after_convolution;
  r.fuses_swish = true;
  r.pixel_is_inner_product = true;
  return r;
}

FusionRules tflite_rules() {
  FusionRules r;
  r.name = "tflite";
  r.title = "TensorFlow Lite (LiteRT) on CPUs";
  r.source =
      "github.com/tensorflow/tensorflow, tensorflow/lite/schema/schema.fbs: "
      "ActivationFunctionType of Conv2DOptions, DepthwiseConv2DOptions, FullyConnectedOptions and "
      "AddOptions";
  r.after_convolution = {A::kRelu, A::kRelu6, A::kTanh};
  r.after_inner_product = r.after_convolution;
  r.after_sum = r.after_convolution;
  r.pads_inside = false;
  return r;
}

FusionRules onnxruntime_rules() {
  FusionRules r;
  r.name = "onnxruntime";
  r.title = "ONNX Runtime with all graph optimizations";
  r.source =
      "github.com/microsoft/onnxruntime, onnxruntime/core/optimizer: conv_bn_fusion.cc, "
      "conv_activation_fusion.cc, conv_add_act_fusion.cc, gemm_activation_fusion.cc, "
      "matmul_add_fusion.cc, quick_gelu_fusion.cc";
  r.after_convolution = {A::kRelu, A::kRelu6, A::kLeakyRelu, A::kSigmoid, A::kTanh};
  r.after_inner_product = {A::kRelu, A::kLeakyRelu, A::kSigmoid, A::kTanh};
  r.fuses_residual = true;
  r.fuses_swish = true;
  return r;
}

FusionRules tensorrt_rules() {
  FusionRules r;
  r.name = "tensorrt";
  r.title = "NVIDIA TensorRT";
  r.source =
      "docs.nvidia.com/deeplearning/tensorrt/latest/performance/fusion-catalog.html: "
      "convolution and activation, convolution and element-wise sum, scale and activation, "
      "point-wise fusion";
  r.after_convolution = {A::kRelu,  A::kRelu6,       A::kLeakyRelu, A::kSigmoid,
                         A::kSwish, A::kHardSigmoid, A::kHardSwish, A::kTanh,
                         A::kGelu,  A::kElu,         A::kMish};
  r.after_inner_product = r.after_convolution;
  r.after_sum = r.after_convolution;
  r.fuses_residual = true;
  r.fuses_swish = true;
  r.fuses_pointwise_chains = true;
  r.concat_in_place = true;
  return r;
}

FusionRules pytorch_rules() {
  FusionRules r;
  r.name = "pytorch";
  r.title = "PyTorch, eager";
  r.source = "by definition: each module of an eager model is a kernel, views apart";
  r.folds_batch_norm = false;
  r.pads_inside = false;
  return r;
}

FusionRules openvino_rules() {
  FusionRules r = tensorrt_rules();
  r.name = "openvino";
  r.title = "OpenVINO on Intel GPUs";
  r.source =
      "docs.openvino.ai, GPU device: optimizations: fusing of convolution with activation, "
      "element-wise sum and quantisation; concatenation in place";
  r.fuses_pointwise_chains = false;
  return r;
}

// Core ML's compiler is not published; its public conversion passes are.
FusionRules coreml_rules() {
  FusionRules r;
  r.name = "coreml";
  r.title = "Core ML behind coremltools";
  r.source =
      "apple.github.io/coremltools, MIL graph passes: fuse_conv_batchnorm, fuse_conv_bias, "
      "fuse_conv_scale, fuse_linear_bias, fuse_gelu_exact, fuse_pad_conv, "
      "fuse_leaky_relu, fuse_prelu; what the device's compiler fuses beyond is not public";
  return r;
}

}  // namespace

const std::vector<FusionRules>& fusion_rules() {
  static const std::vector<FusionRules> kRules = {
      no_rules(),       ncnn_rules(),    tflite_rules(),   onnxruntime_rules(),
      tensorrt_rules(), pytorch_rules(), openvino_rules(), coreml_rules()};
  return kRules;
}

const FusionRules& fusion_rules(std::string_view runtime) {
  return kind_named(fusion_rules(), "runtime", runtime);
}

}  // namespace orrery
