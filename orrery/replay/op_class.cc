#include "orrery/replay/op_class.h"

#include <algorithm>

namespace orrery {
namespace {

// Parts of kernel names, in lower case, with their classes. The order matters: a fused attention of
// CUTLASS has "cutlass" in its name, a norm of Inductor "triton_", a reduction of NCCL "reduce".
struct Known {
  std::string_view part;
  OpClass is;
};
constexpr Known kKnown[] = {
    // NCCL and RCCL: ncclDevKernel_AllReduce_Sum_bf16_RING_LL, ncclKernel_..., rccl_...
    {"nccl", OpClass::kCommunication},
    {"rccl", OpClass::kCommunication},
    // vLLM's and TensorRT-LLM's all-reduce, Transformer Engine's user buffers, NVSHMEM, DeepEP
    {"cross_device_reduce", OpClass::kCommunication},
    {"allreduce", OpClass::kCommunication},
    {"userbuffers", OpClass::kCommunication},
    {"nvshmem", OpClass::kCommunication},
    {"deep_ep::", OpClass::kCommunication},
    // PyTorch: copies between devices or layouts that are kernels
    {"catarraybatchedcopy", OpClass::kElementwise},
    // FlashAttention 2 and 3 (flash::flash_fwd_kernel, flash_bwd_...), xFormers and PyTorch
    // (fmha_cutlassF_bf16_aligned...), cuDNN (cudnn_generated_fort_native_sdpa_sm90_...), CK
    // (ck_tile::FmhaFwdKernel), Triton's tutorial and Inductor's flex attention
    {"flash", OpClass::kAttention},
    {"fmha", OpClass::kAttention},
    {"sdpa", OpClass::kAttention},
    {"attention", OpClass::kAttention},
    {"attn_fwd", OpClass::kAttention},
    {"attn_bwd", OpClass::kAttention},
    // PyTorch's and Apex's lists of tensors (multi_tensor_apply_kernel<...FusedAdam...>), bits and
    // bytes (kOptimizer32bit...), DeepSpeed (adam_update), Muon's scripts
    {"multi_tensor_apply", OpClass::kOptimizer},
    {"adam", OpClass::kOptimizer},
    {"koptimizer", OpClass::kOptimizer},
    {"l2norm", OpClass::kOptimizer},  // Apex: the norm for clipping gradients
    // PyTorch (vectorized_layer_norm_kernel, GammaBetaBackward), Apex, Transformer Engine
    // (rmsnorm_fwd_tuned_kernel, ln_bwd_...), Liger (_rms_norm_forward_kernel), Inductor
    // (triton_red_fused_native_layer_norm_0)
    {"norm", OpClass::kNorm},
    {"gammabeta", OpClass::kNorm},
    {"transformer_engine::normalization", OpClass::kNorm},
    {"ln_fwd", OpClass::kNorm},
    {"ln_bwd", OpClass::kNorm},
    // Inductor: pointwise, reductions, persistent reductions; templates of products are
    // triton_tem_fused_mm...
    {"triton_poi", OpClass::kElementwise},
    {"triton_red", OpClass::kElementwise},
    {"triton_per", OpClass::kElementwise},
    {"triton_tem", OpClass::kGemm},
    // cuBLAS and cuBLASLt (ampere_bf16_s16816gemm_..., sm90_xmma_gemm_..., nvjet_hsh_...,
    // cublasLt::splitKreduce_kernel, gemv), CUTLASS, rocBLAS and hipBLASLt (Cijk_...), DeepGEMM,
    // grouped products of Megatron and vLLM (fused_moe_kernel)
    {"splitkreduce", OpClass::kGemm},
    {"gemm", OpClass::kGemm},
    {"gemv", OpClass::kGemm},
    {"nvjet", OpClass::kGemm},
    {"xmma", OpClass::kGemm},
    {"cutlass", OpClass::kGemm},
    {"cublas", OpClass::kGemm},
    {"cijk_", OpClass::kGemm},
    {"matmul", OpClass::kGemm},
    {"fused_moe_kernel", OpClass::kGemm},
    // ATen (vectorized_elementwise_kernel, reduce_kernel, indexSelectLargeIndex, embedding_...,
    // cunn_SoftMaxForward, nll_loss_...), CUB, Transformer Engine's casts and fused softmax,
    // Megatron's fused rotary embedding and cross-entropy
    {"elementwise", OpClass::kElementwise},
    {"reduce", OpClass::kElementwise},
    {"softmax", OpClass::kElementwise},
    {"index", OpClass::kElementwise},
    {"embedding", OpClass::kElementwise},
    {"scatter", OpClass::kElementwise},
    {"gather", OpClass::kElementwise},
    {"nll_loss", OpClass::kElementwise},
    {"cross_entropy", OpClass::kElementwise},
    {"dropout", OpClass::kElementwise},
    {"rotary", OpClass::kElementwise},
    {"rope", OpClass::kElementwise},
    {"swiglu", OpClass::kElementwise},
    {"gelu", OpClass::kElementwise},
    {"silu", OpClass::kElementwise},
    {"cast", OpClass::kElementwise},
    {"transpose", OpClass::kElementwise},
    {"copy", OpClass::kElementwise},
    {"fill", OpClass::kElementwise},
    {"cub::", OpClass::kElementwise},
    {"at::native", OpClass::kElementwise},
};

constexpr std::string_view kNames[kOpClasses] = {
    "gemm", "attention", "elementwise", "norm", "optimizer", "communication", "copy", "other"};

bool contains(std::string_view text, std::string_view lower) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

}  // namespace

std::string_view to_text(OpClass c) { return kNames[static_cast<std::size_t>(c)]; }

std::optional<OpClass> parse_op_class(std::string_view text) {
  for (OpClass c : kAllOpClasses) {
    if (to_text(c) == text) return c;
  }
  return {};
}

OpClass class_of_kernel(std::string_view name, bool in_optimizer) {
  OpClass found = OpClass::kOther;
  for (const Known& k : kKnown) {
    if (!contains(name, k.part)) continue;
    found = k.is;
    break;
  }
  return in_optimizer && found != OpClass::kCommunication ? OpClass::kOptimizer : found;
}

}  // namespace orrery
