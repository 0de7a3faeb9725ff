#include "orrery/edge/engine/engine_ops.h"

#include <algorithm>

namespace orrery {
namespace {

// The width of an instruction's tile in channels: the matrix units multiply 32 bytes of each row at
// a time (PTX ISA, warp-level matrix instructions: m16n8k32 of bytes, m16n8k16 of halves, m16n8k8
// of tf32).
constexpr Bytes kInstructionBytes(32);

class Calls {
 public:
  Calls(const EdgeKernel& kernel, const EngineKind& engine, EnginePrecision precision, bool tf32)
      : k_(kernel), engine_(engine), precision_(precision), tf32_(tf32) {}

  std::vector<EngineCall> make() {
    switch (k_.family) {
      case EdgeFamily::kConvolution:
      case EdgeFamily::kDeconvolution:
      case EdgeFamily::kGroupedConvolution:
        convolution();
        break;
      case EdgeFamily::kInnerProduct:
        if (k_.macs > 0 && k_.weights > 0) {
          inner_product();
        } else {
          data(Elementwise::Kind::kCopy);
        }
        break;
      case EdgeFamily::kMatMul:
        product(
            {k_.out.h, k_.out.w,
             std::max<std::int64_t>(
                 k_.macs / std::max<std::int64_t>(k_.out.c * k_.out.h * k_.out.w * k_.batch, 1), 1),
             k_.out.c * k_.batch, format(false), false});
        break;
      case EdgeFamily::kAttention:
        attention();
        break;
      case EdgeFamily::kRecurrent:
        recurrent();
        break;
      case EdgeFamily::kSoftmax:
        data(Elementwise::Kind::kSoftmax);
        break;
      case EdgeFamily::kNorm:
        data(Elementwise::Kind::kNorm);
        break;
      case EdgeFamily::kActivation:
        data(Elementwise::Kind::kActivation);
        break;
      case EdgeFamily::kElementwise:
        data(Elementwise::Kind::kAdd);
        break;
      default:  // depth-wise filters use a value few times: their time is that of their data
        data(Elementwise::Kind::kCopy);
    }
    return std::move(calls_);
  }

 private:
  Format format(bool convolution) const {
    if (precision_ == EnginePrecision::kInt8) return Format::kInt8;
    if (precision_ == EnginePrecision::kHalf) return Format::kFp16;
    const bool rounds = convolution ? engine_.tf32_convolutions : engine_.tf32_products;
    return tf32_ && rounds ? Format::kTf32 : Format::kFp32;
  }

  Bytes data_bytes() const {
    return double(k_.in_elements + k_.out_elements) * element_bytes(precision_);
  }

  void convolution() {
    const std::int64_t pixels = std::max<std::int64_t>(k_.out.h * k_.out.w * k_.batch, 1);
    const std::int64_t outputs = std::max<std::int64_t>(k_.out.c, 1);
    const std::int64_t inner = std::max<std::int64_t>(k_.weights / outputs, 1);
    const Bytes moved = data_bytes() + double(k_.weights) * element_bytes(precision_);
    if (k_.groups <= 1) {
      calls_.push_back({Gemm{pixels, outputs, inner, 1, format(true), true}, moved});
      return;
    }
    const std::int64_t window = k_.kernel.h * k_.kernel.w;
    const std::int64_t tile = std::int64_t(kInstructionBytes / element_bytes(precision_));
    const std::int64_t width = std::max(tile, outputs / k_.groups);
    const std::int64_t blocks = std::max<std::int64_t>(outputs / width, 1);
    calls_.push_back({Gemm{pixels * blocks, width, width * window, 1, format(true), true}, moved});
  }

  void product(Gemm gemm) { calls_.push_back({gemm, gemm.byte_count()}); }

  void inner_product() {
    const std::int64_t rows = std::max<std::int64_t>(k_.macs / k_.weights, 1);
    const std::int64_t outputs = std::max<std::int64_t>(k_.out_elements / rows, 1);
    product(
        {rows, outputs, std::max<std::int64_t>(k_.weights / outputs, 1), 1, format(false), true});
  }

  // Four projections of as many weights around the attention itself.
  void attention() {
    const std::int64_t rows = k_.in.h * k_.batch, columns = std::max<std::int64_t>(k_.in.w, 1);
    const std::int64_t width = std::max<std::int64_t>(k_.weights / (4 * columns), 1);
    const std::int64_t heads = std::max<std::int64_t>(width / kAssumedHeadWidth, 1);
    product({rows, 3 * width, columns, 1, format(false), true});
    if (engine_.fused_attention && precision_ != EnginePrecision::kFloat) {
      PrefillAttention core;
      core.batch = k_.batch, core.new_tokens = k_.in.h, core.heads = core.kv_heads = int(heads);
      core.head_dim = core.value_dim = int(kAssumedHeadWidth);
      core.causal = false, core.dtype = core.kv_dtype = Dtype::kFp16;
      calls_.push_back({core, core.byte_count()});
    } else {
      const std::int64_t cores = heads * k_.batch;
      product({k_.in.h, k_.in.h, kAssumedHeadWidth, cores, format(false), false});
      const Bytes scores = double(cores * k_.in.h * k_.in.h) * element_bytes(precision_);
      push_data(Elementwise::Kind::kSoftmax, scores, scores);
      product({k_.in.h, kAssumedHeadWidth, k_.in.h, cores, format(false), false});
    }
    product({rows, columns, width, 1, format(false), true});
  }

  // One step after the other, each reading all weights of the state.
  void recurrent() {
    const std::int64_t steps = std::max<std::int64_t>(k_.in.h, 1);
    const std::int64_t width = std::max<std::int64_t>(k_.out.w, 1);
    for (std::int64_t s = 0; s < std::min<std::int64_t>(steps, kMostSteps); ++s)
      product(
          {k_.batch, std::max<std::int64_t>(k_.weights / width, 1), width, 1, format(false), true});
  }

  void data(Elementwise::Kind kind) {
    push_data(kind, double(k_.in_elements) * element_bytes(precision_),
              double(k_.out_elements) * element_bytes(precision_));
  }
  void push_data(Elementwise::Kind kind, Bytes read, Bytes written) {
    Elementwise e;
    e.kind = kind, e.read = read, e.written = written;
    e.width = std::max<std::int64_t>(k_.out.w, 1);
    e.rows = std::max<std::int64_t>(k_.out_elements / e.width, 1);
    calls_.push_back({e, e.byte_count()});
  }

  static constexpr std::int64_t kMostSteps = 4096;
  const EdgeKernel& k_;
  const EngineKind& engine_;
  EnginePrecision precision_;
  bool tf32_;
  std::vector<EngineCall> calls_;
};

}  // namespace

Bytes element_bytes(EnginePrecision precision) {
  return precision == EnginePrecision::kInt8   ? Bytes(1)
         : precision == EnginePrecision::kHalf ? Bytes(2)
                                               : Bytes(4);
}

const std::vector<EngineKind>& engine_kinds() {
  static const std::vector<EngineKind> kKinds = {
      {"tensorrt", true, true, "trtllm", true,
       "docs.nvidia.com/deeplearning/tensorrt, Developer Guide: TF32 is enabled by default; "
       "operators and layers: fused multi-head attention"},
      {"onnxruntime", true, true, "pytorch", false,
       "onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html: use_tf32, default 1"},
      {"pytorch", true, false, "pytorch", false,
       "pytorch.org/docs/stable/notes/cuda.html: torch.backends.cudnn.allow_tf32 is True, "
       "torch.backends.cuda.matmul.allow_tf32 is False by default"},
      {"openvino", false, false, "pytorch", false,
       "docs.openvino.ai, GPU device: data types; it has no rounding to tf32"}};
  return kKinds;
}

const EngineKind* engine_kind(std::string_view name) {
  for (const EngineKind& e : engine_kinds()) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

std::vector<EngineCall> engine_calls(const EdgeKernel& kernel, const EngineKind& engine,
                                     EnginePrecision precision, bool tf32) {
  return Calls(kernel, engine, precision, tf32).make();
}

}  // namespace orrery
