#include "orrery/kernel/tiers/engine_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "orrery/kernel/families/families.h"
#include "orrery/kernel/tiers/transfer.h"

namespace orrery {
namespace {

using How = EngineKernel::How;

// The set of rules of GPUs for which the engines have no data-centre kernels: RTX 50, RTX PRO
// Blackwell, GB10 (GpuArchitecture::fallback_kernels).
constexpr std::string_view kConsumerBlackwell = "consumer-blackwell";

// Each query head has a KV head of its own: TensorRT-LLM then runs its masked multi-head attention
// kernel and not XQA, which packs the query heads of a KV head.
bool one_query_head(const Op& op) {
  const auto& a = std::get<DecodeAttention>(op);
  return a.heads == a.kv_heads && a.queries == 1;
}

// Sources of the rules (files of the engines' repositories):
// - vLLM: csrc/libtorch_stable/quantization/w8a8/cutlass/c3x/scaled_mm_sm120_fp8_dispatch.cuh has
//   CUTLASS 3 kernels with tiles by m for compute capability 12, where Ada runs the CUTLASS 2
//   kernels of scaled_mm_c2x*. They are given the rate of cuBLASLt's, which TensorRT-LLM times.
// - SGLang: sgl-kernel/csrc/gemm/fp8_gemm_kernel.cu (sm120_fp8_dispatch_bias) has tiles of 128 and
//   256 rows only, without clusters and without a split of k.
// - vLLM's experts on compute capability 12 are FlashInfer's CUTLASS kernels, which are
//   TensorRT-LLM's (flashinfer/csrc/fused_moe/cutlass_backend); on Ada they are Triton's.
// - Block-scaled fp8 experts: DeepGEMM has no kernels for compute capability 12 (sgl-project/sglang
//   issue 18870); SGLang and TensorRT-LLM run Triton's, as vLLM does on Ada.
// - mxfp4 experts under SGLang: Marlin on compute capability 12, Triton with weights in 16 bit on
//   Ada. SGLang's 4-bit integer experts are Marlin's on both.
// - vLLM's NVFP4 weights on GPUs without fp4 arithmetic stay compressed and are multiplied in 16
//   bit by Marlin (vllm/model_executor/layers/quantization/utils/marlin_utils_fp4.py). Products
//   then take what int4 weights take (gemm.cc); experts are those of Marlin's int4 class.
// - Masked multi-head attention with an fp8 cache: on Ada alone it takes two to four times its
//   16-bit time (kernel sweeps). On Hopper the two take the same time with many query heads, which
//   is bound by arithmetic outside of the tensor cores, so that half the bytes change nothing
//   (factor 2 on the time over bytes), and the time by the bytes with one query head.
constexpr std::array kRules = {
    EngineKernel{.family = "gemm",
                 .framework = "vllm",
                 .format = "fp8",
                 .set = kConsumerBlackwell,
                 .how = How::kFaster,
                 .served_by = "trtllm",
                 .what = "CUTLASS 3 kernels"},
    EngineKernel{.family = "gemm",
                 .framework = "sglang",
                 .format = "fp8",
                 .set = kConsumerBlackwell,
                 .how = How::kPhysics,
                 .physics = whole_tile_gemm_family,
                 .what = "CUTLASS kernels of whole tiles"},
    EngineKernel{.family = "moe",
                 .framework = "vllm",
                 .format = "bf16",
                 .set = kConsumerBlackwell,
                 .served_by = "trtllm",
                 .what = "CUTLASS kernels"},
    EngineKernel{.family = "moe",
                 .framework = "vllm",
                 .format = "fp8",
                 .set = kConsumerBlackwell,
                 .served_by = "trtllm",
                 .what = "CUTLASS kernels"},
    EngineKernel{.family = "moe",
                 .framework = "vllm",
                 .format = "nvfp4",
                 .set = kConsumerBlackwell,
                 .served_by = "trtllm",
                 .what = "CUTLASS kernels"},
    EngineKernel{.family = "moe",
                 .framework = "sglang",
                 .format = "fp8_block",
                 .ending = "_ep",
                 .set = kConsumerBlackwell,
                 .served_by = "sglang",
                 .served_format = "bf16",
                 .error = 0.2,
                 .what = "Triton kernels"},
    EngineKernel{.family = "moe",
                 .framework = "trtllm",
                 .format = "fp8_block",
                 .ending = "_ep",
                 .set = kConsumerBlackwell,
                 .served_by = "sglang",
                 .served_format = "bf16",
                 .error = 0.3,
                 .what = "Triton kernels"},
    EngineKernel{.family = "moe",
                 .framework = "sglang",
                 .format = "fp8_block",
                 .set = kConsumerBlackwell,
                 .served_by = "vllm",
                 .error = 0.1,
                 .what = "Triton kernels"},
    EngineKernel{.family = "moe",
                 .framework = "trtllm",
                 .format = "fp8_block",
                 .set = kConsumerBlackwell,
                 .served_by = "vllm",
                 .error = 0.3,
                 .what = "Triton kernels"},
    EngineKernel{.family = "moe",
                 .framework = "sglang",
                 .format = "mxfp4",
                 .set = kConsumerBlackwell,
                 .served_by = "vllm",
                 .error = 0.2,
                 .what = "Marlin kernels"},
    EngineKernel{.family = "gemm",
                 .framework = "vllm",
                 .format = "nvfp4",
                 .missing = Dtype::kFp4,
                 .served_by = "vllm",
                 .served_format = "bf16",
                 .factor = 1.2,
                 .error = 0.3,
                 .what = "Marlin's products in 16 bit"},
    EngineKernel{.family = "moe",
                 .framework = "vllm",
                 .format = "nvfp4",
                 .missing = Dtype::kFp4,
                 .served_by = "vllm",
                 .served_format = "int4_weight",
                 .error = 0.2,
                 .what = "Marlin's products in 16 bit"},
    EngineKernel{.family = "attention_decode",
                 .framework = "trtllm",
                 .format = "fp8kv",
                 .ending = "_many_heads",
                 .from_slow_fp8_cache = true,
                 .served_by = "trtllm",
                 .served_format = "bf16",
                 .factor = 2,
                 .error = 0.1,
                 .what = "kernels that convert fp8 in hardware"},
    EngineKernel{.family = "attention_decode",
                 .framework = "trtllm",
                 .format = "fp8kv",
                 .from_slow_fp8_cache = true,
                 .how = How::kSome,
                 .served_by = "trtllm",
                 .served_format = "bf16",
                 .applies = one_query_head,
                 .what = "kernels that convert fp8 in hardware"},
};

// Texts that may follow a format in the name of a class besides the endings that rules name: the
// loads and the split of experts; the head size and the window of attention.
bool is_format(std::string_view name, std::string_view format, std::string_view ending) {
  if (!name.starts_with(format)) return false;
  const std::string_view rest = name.substr(format.size());
  if (!ending.empty()) return rest.find(ending) != std::string_view::npos;
  return rest.empty() || rest.starts_with("_ep") || rest.starts_with("_skewed") ||
         (rest.size() > 1 && rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9');
}

}  // namespace

const EngineKernel* engine_kernel(std::string_view family, std::string_view framework,
                                  std::string_view kernel_class, const KernelGpu& here,
                                  const KernelGpu* relative) {
  for (const EngineKernel& rule : kRules) {
    if (rule.family != family || rule.framework != framework ||
        !is_format(kernel_class, rule.format, rule.ending))
      continue;
    if (rule.missing) {
      if (here.vendor == "nvidia" && !here.supports(*rule.missing)) return &rule;
      continue;
    }
    if (!rule.set.empty() && here.architecture.fallback_kernels != rule.set) continue;
    if (relative && same_generation(*relative, here)) continue;
    if (rule.from_slow_fp8_cache && (!relative || !relative->architecture.slow_fp8_cache)) continue;
    return &rule;
  }
  return nullptr;
}

KernelClass served_class(const EngineKernel& rule, const KernelClass& wanted) {
  KernelClass out = wanted;
  for (KernelClassSource& source : out.sources) {
    if (!rule.served_format.empty() && source.name.starts_with(rule.format))
      source.name = std::string(rule.served_format) + source.name.substr(rule.format.size());
    source.factor *= rule.factor;
    source.error = std::hypot(source.error, rule.error);
  }
  return out;
}

}  // namespace orrery
