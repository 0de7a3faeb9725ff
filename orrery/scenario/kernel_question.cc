#include "orrery/scenario/kernel_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/scenario/format_field.h"
#include "orrery/scenario/kernel_ops.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostRows = 100'000'000'000;  // adam's parameters
constexpr std::int64_t kMostTokens = 100'000'000;

// What stands for a format that the GPU does not multiply; empty: nothing needs to.
std::string substitute(const Op& op, const Gpu& gpu) {
  const Dtype wanted = arithmetic(op), used = gpu.compute_dtype(wanted);
  if (flops(op) <= Flops(0) || used == wanted) return "";
  return fmt::format("; {} has no {}: {} instead", gpu.id, to_text(wanted), to_text(used));
}

Point answer(const Op& op, const Gpu& gpu, const KernelModel& model) {
  const KernelTime t = model.predict(op);
  const Flops work = flops(op);
  const Bytes moved = bytes(op);
  Point p;
  p.metrics.push_back(metric("time", "us", t.time, 1e-6));
  if (work > Flops(0))
    p.metrics.push_back(exact_metric("compute_roofline", "us", t.compute.value() * 1e6));
  p.metrics.push_back(exact_metric("memory_roofline", "us", t.memory.value() * 1e6));
  p.metrics.push_back(
      rate_metric("efficiency", "%", 100 * std::max(t.compute, t.memory).value(), t.time));
  if (work > Flops(0)) {
    const Dtype dtype = gpu.compute_dtype(arithmetic(op));
    p.at["arithmetic"] = to_text(dtype);
    p.metrics.push_back(rate_metric("rate", "TFLOP/s", work.value() / 1e12, t.time));
    p.metrics.push_back(exact_metric("peak_rate", "TFLOP/s", gpu.peak(dtype).value() / 1e12));
  }
  p.metrics.push_back(rate_metric("bandwidth", "GB/s", moved.value() / 1e9, t.time));
  p.metrics.push_back(exact_metric("peak_bandwidth", "GB/s", gpu.memory.bandwidth.value() / 1e9));
  p.at["bound"] = to_text(t.bound);
  p.notes = {model.provenance(op) + substitute(op, gpu)};
  return p;
}

}  // namespace

void declare(Fields& f, KernelQuestion& q) {
  const auto effect = [&q](Field& field) {
    const std::string key = field.name();
    field.needs(needs_of(key), [&q, key] { return reads(q, key); });
  };
  std::vector<std::string> names;
  for (const KernelOp& o : kernel_ops()) names.emplace_back(o.name);
  f.add("op", q.op, "which kernel").one_of(names);
  f.add("framework", q.framework, "whose measured kernels")
      .one_of({"vllm", "sglang", "trtllm", "pytorch"});
  const auto is_format = [](const std::string& text) { return parse_format(text).has_value(); };
  effect(
      add_format(f, "format", q.format, is_format, format_names(), "number format of the operands")
          .alias("dtype"));
  const auto is_dtype = [](const std::string& text) { return parse_dtype(text).has_value(); };
  effect(add_format(f, "kv_dtype", q.kv_dtype, is_dtype, dtype_names(),
                    "format of the KV cache; empty: that of the operands"));
  add_sweep(f, "m", q.m, 1, kMostRows, "rows; attention: sequences; moe: tokens; adam: parameters");
  effect(add_sweep(f, "context", q.context, 1, kMostTokens,
                   "new tokens (prefill) or cached tokens (decode) of a sequence"));
  effect(f.add("n", q.n, "columns; moe: intermediate size").range(1, 1e9));
  effect(f.add("k", q.k, "inner size of a product; moe: hidden size").range(1, 1e9));
  effect(f.add("batch", q.batch, "products at once").range(1, 1e9));
  effect(f.add("phase", q.phase, "which of two kernels").one_of({"prefill", "decode"}));
  effect(f.add("past", q.past, "tokens cached before the new ones").range(0, kMostTokens));
  effect(f.add("heads", q.heads, "query heads; linear-attention: value heads").range(1, 1e5));
  effect(f.add("kv_heads", q.kv_heads, "key and value heads; linear-attention: key heads")
             .range(1, 1e5));
  effect(f.add("head_dim", q.head_dim, "size of a head").range(1, 4096));
  effect(f.add("window", q.window, "sliding window; 0: none").range(0, kMostTokens));
  effect(f.add("mixer", q.mixer, "kind of the recurrent mixer")
             .one_of({"gated-delta-net", "mamba2", "kimi-delta"}));
  effect(f.add("experts", q.experts, "experts in all").range(1, 1e5));
  effect(f.add("top_k", q.top_k, "experts a token").range(1, 1e4));
  effect(f.add("tp", q.tp, "tensor-parallel ranks of an expert").range(1, 1e4));
  effect(f.add("ep", q.ep, "expert-parallel groups").range(1, 1e4));
  effect(
      f.add("skew", q.skew, "exponent of the power law of expert loads; 0: balanced").range(0, 3));
}

KernelClasses classes_of(const KernelQuestion& q) {
  KernelClasses c{q.framework, q.framework, q.framework, q.framework, q.framework};
  if (q.framework == "pytorch") c.rows = q.framework;
  return c;
}

std::vector<Point> answer_kernels(const KernelQuestion& q, const Gpu& gpu,
                                  const KernelModel& model) {
  const bool has_context = reads(q, "context");
  std::vector<Point> points;
  for (const std::int64_t m : q.m) {
    for (const std::int64_t context : has_context ? q.context : Sweep{0}) {
      const Op op = make_op(q, m, context);
      Point p = answer(op, gpu, model);
      nlohmann::ordered_json at = {{"op", q.op}, {"gpu", gpu.id}, {"m", m}};
      if (has_context) at["context"] = context;
      at["sizes"] = describe(op);
      at.update(p.at);
      p.at = std::move(at);
      points.push_back(std::move(p));
    }
  }
  return points;
}

}  // namespace orrery
