#include "orrery/scenario/kinds/kernel/kernel_question.h"

#include <fmt/format.h>

#include "orrery/scenario/kinds/kernel/kernel_ops.h"
#include "orrery/scenario/kinds/kernel/sparse_blocks.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/workload/ops/format_field.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostRows = 100'000'000'000;  // adam's parameters
constexpr std::int64_t kMostKernelTokens = 100'000'000;

}  // namespace

void declare(Fields& f, KernelQuestion& q) {
  const auto effect = [&q](Field& field) {
    const std::string key = field.name();
    field.needs(needs_of(key), [&q, key] { return reads(q, key); });
  };
  std::vector<std::string> names;
  for (const KernelOp& o : kernel_ops()) names.emplace_back(o.name);
  f.add("op", q.op, "the kernel").one_of(names);
  f.add("framework", q.framework, "framework whose measured kernels are used")
      .one_of({"vllm", "sglang", "trtllm", "pytorch"});
  const auto is_format = [](const std::string& text) { return parse_format(text).has_value(); };
  effect(
      add_format(f, "format", q.format, is_format, format_names(), "number format of the operands")
          .alias("dtype"));
  const auto is_dtype = [](const std::string& text) { return parse_dtype(text).has_value(); };
  effect(add_format(f, "kv_dtype", q.kv_dtype, is_dtype, dtype_names(),
                    "format of the KV cache; empty: that of the operands"));
  effect(add_format(f, "attn_dtype", q.attn_dtype, is_dtype, dtype_names(),
                    "format in which the attention of a block multiplies; empty: bf16"));
  add_sweep(f, "m", q.m, 1, kMostRows, "rows; attention: sequences; moe: tokens; adam: parameters");
  effect(add_sweep(f, "context", q.context, 1, kMostKernelTokens,
                   "new tokens (prefill) or cached tokens (decode) of a sequence"));
  effect(f.add("n", q.n, "columns; moe: intermediate size").range(1, 1e9));
  effect(f.add("k", q.k, "inner size of a product; moe: hidden size").range(1, 1e9));
  effect(f.add("batch", q.batch, "number of products in the batch").range(1, 1e9));
  effect(f.add("phase", q.phase, "prefill or decode").one_of({"prefill", "decode"}));
  effect(f.add("past", q.past, "tokens cached before the new ones").range(0, kMostKernelTokens));
  effect(f.add("heads", q.heads, "query heads; linear-attention: value heads").range(1, 1e5));
  effect(f.add("kv_heads", q.kv_heads, "key and value heads; linear-attention: key heads")
             .range(1, 1e5));
  effect(f.add("head_dim", q.head_dim, "size of a head").range(1, 4096));
  effect(f.add("window", q.window, "sliding window; 0: none").range(0, kMostKernelTokens));
  effect(f.add("mixer", q.mixer, "kind of the recurrent mixer")
             .one_of({"gated-delta-net", "mamba2", "kimi-delta"}));
  effect(f.add("experts", q.experts, "number of experts").range(1, 1e5));
  effect(f.add("top_k", q.top_k, "experts per token").range(1, 1e4));
  effect(f.add("tp", q.tp, "tensor-parallel ranks of an expert").range(1, 1e4));
  effect(f.add("ep", q.ep, "expert-parallel groups").range(1, 1e4));
  effect(f.add("skew", q.skew,
               "exponent of the power law by which tokens are spread over experts; 0: balanced")
             .range(0, 3));
  effect(f.add("gated", q.gated, "experts have a gate: three matrices instead of two"));
  effect(f.add("block", q.block, "block of sparse attention, by the model that has it")
             .one_of(sparse_block_names()));
  f.add("repeated", q.repeated,
        "time of the call as a benchmark repeats it, on operands that stay in the L2 cache where "
        "they fit; default: as it stands in a step of an engine");
}

}  // namespace orrery
