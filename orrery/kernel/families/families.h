// The kernel families, one file each.
#pragma once

#include "orrery/kernel/families/family.h"

namespace orrery {

const KernelFamily& gemm_family();
const KernelFamily& prefill_attention_family();
const KernelFamily& decode_attention_family();
const KernelFamily& latent_core_family();
const KernelFamily& latent_module_family();
const KernelFamily& absorbed_product_family();
const KernelFamily& moe_family();
const KernelFamily& linear_attention_family();
const KernelFamily& state_space_family();
const KernelFamily& elementwise_family();
const KernelFamily& batched_gemm_family();
const KernelFamily& row_kernel_family();
const KernelFamily& encoder_attention_family();
const KernelFamily& quantise_family();
const KernelFamily& causal_convolution_family();
const KernelFamily& wide_ep_family();
const KernelFamily& sparse_attention_family();
const KernelFamily& gemm_gradient_family();
const KernelFamily& attention_backward_family();

// Whether a row of the linear attention table that processes so many values (tokens times channels)
// is of a sweep that something disturbed (linear_attention.cc).
bool is_disturbed(const CsvReader& row, double values);

}  // namespace orrery
