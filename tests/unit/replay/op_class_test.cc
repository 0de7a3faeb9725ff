// Are kernels known by the names that libraries give them?
#include "orrery/replay/op_class.h"

#include <gtest/gtest.h>

namespace orrery {
namespace op_class_test {

TEST(OpClass, NamesOfLibraries) {
  struct Case {
    const char* name;
    OpClass is;
  };
  for (const Case& c : {
           Case{"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", OpClass::kGemm},
           {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", OpClass::kGemm},
           {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn", OpClass::kGemm},
           {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", OpClass::kGemm},
           {"void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>", OpClass::kGemm},
           {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", OpClass::kGemm},
           {"triton_tem_fused_mm_3", OpClass::kGemm},
           {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<>", OpClass::kAttention},
           {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", OpClass::kAttention},
           {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", OpClass::kAttention},
           {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            OpClass::kCommunication},
           {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", OpClass::kCommunication},
           {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
            OpClass::kNorm},
           {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<>", OpClass::kNorm},
           {"triton_red_fused_native_layer_norm_0", OpClass::kNorm},
           {"void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>",
            OpClass::kOptimizer},
           {"void at::native::vectorized_elementwise_kernel<4, at::native::gelu>",
            OpClass::kElementwise},
           {"triton_poi_fused_add_mul_12", OpClass::kElementwise},
           {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
            OpClass::kElementwise},
           {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8>",
            OpClass::kElementwise},
           {"my_own_kernel", OpClass::kOther},
       }) {
    EXPECT_EQ(class_of_kernel(c.name, false), c.is)
        << c.name << ": " << to_text(class_of_kernel(c.name, false));
  }
}

TEST(OpClass, TheOptimizersStepCountsAsItsOwn) {
  const char* add = "void at::native::vectorized_elementwise_kernel<4, AddFunctor>";
  EXPECT_EQ(class_of_kernel(add, true), OpClass::kOptimizer);
  EXPECT_EQ(class_of_kernel("ncclDevKernel_AllGather_RING_LL", true), OpClass::kCommunication);
}

TEST(OpClass, TextsAndBack) {
  for (OpClass c : kAllOpClasses) EXPECT_EQ(parse_op_class(to_text(c)), c);
  EXPECT_FALSE(parse_op_class("Gemm"));
}

}  // namespace op_class_test
}  // namespace orrery
