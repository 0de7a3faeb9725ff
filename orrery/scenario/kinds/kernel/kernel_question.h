// A question about single kernels: the time of one op on one GPU, without a model.
//
//   hardware: {gpu: h100-sxm}
//   kernel: {op: gemm, m: 1-4096*2, n: 8192, k: 8192, format: fp8}
//
// The answer has a point for each m and context, with the time of one call as it stands in a step
// (weights and KV cache come from memory), the limits of the data sheet, and the tier. `repeated`
// asks for the time that a benchmark of the kernel measures instead. What the sizes mean for each
// op: kernel_ops.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/fields.h"

namespace orrery {

struct QuestionKind;

struct KernelQuestion {
  std::string op = "gemm", framework = "vllm";
  std::string format = "bf16", kv_dtype;  // kv_dtype: empty for that of the operands
  std::string attn_dtype;                 // of a whole block; empty: bf16
  std::int64_t m = 1, context = 1024;
  std::int64_t n = 4096, k = 4096, batch = 8;
  std::string phase = "decode";
  std::int64_t past = 0, window = 0;
  int heads = 32, kv_heads = 8, head_dim = 128;
  std::string mixer = "gated-delta-net";
  int experts = 8, top_k = 2, tp = 1, ep = 1;
  double skew = 0;
  bool gated = true;
  std::string block = "deepseek-v3.2";  // of sparse attention (sparse_blocks.h)
  bool repeated = false;
};

// Defined by the kind (kernel_kind.cc).
const QuestionKind& kind_of(const KernelQuestion& question);

void declare(Fields& fields, KernelQuestion& question);

}  // namespace orrery
