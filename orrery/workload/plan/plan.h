// How a deployment is split over devices, in which number formats, and whether a model allows it.
#pragma once

#include <compare>
#include <optional>

#include "orrery/base/dtype.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/ops/format.h"

namespace orrery {

// How a deployment of one engine is split. Devices: tp * pp * dp.
struct ParallelPlan {
  int tp = 1;  // tensor parallel: of attention and dense MLPs
  int pp = 1;  // pipeline stages
  int dp = 1;  // attention data parallel: dp groups with sequences of their own share the experts
  int ep = 1;  // expert parallel: expert groups; the experts' tensor parallel is tp*dp/ep
  int moe_tp() const { return tp * dp / ep; }
  int devices() const { return tp * pp * dp; }
  friend auto operator<=>(const ParallelPlan&, const ParallelPlan&) = default;
};

// Number formats of the parts of a step.
struct Precision {
  Format weights = Format::kBf16;  // dense projections
  Format experts = Format::kBf16;  // routed experts
  Format lm_head = Format::kBf16;
  Dtype activations = Dtype::kBf16;  // 16-bit residual stream
  Dtype attention = Dtype::kBf16;    // arithmetic of attention
  Dtype kv_cache = Dtype::kBf16;
  // Projections of attention and other mixers where they are stored apart from `weights`.
  std::optional<Format> mixers = std::nullopt;
  // Of products that a model wants in fp32 (MoeMlp::router_fp32): fp32, or tf32 where the engine
  // lets tensor cores compute them.
  Format fp32_products = Format::kFp32;
  Format mixer_weights() const { return mixers.value_or(weights); }
};

// The precision a checkpoint is served in if nothing is asked: its own quantisation, attention in
// 16 bits (a checkpoint in fp32 is cast to fp16, as vLLM does). The LM head stays in 16 bits, and
// so do the dense projections of a MoE model of which only the experts are quantised (gpt-oss), and
// attention that the checkpoint names as left out (Llama 3.1 405B FP8).
// NoData: a quantisation that no Format stands for.
Precision native_precision(const Architecture& model);

// The 16- or 32-bit format that multiplies operands stored as `dtype`: fp32, fp16, else bf16.
Format plain_format(Dtype dtype);

// Layers [first, last) of the stack that a pipeline stage executes.
struct StageLayers {
  int first = 0, last = 0;
  int size() const { return last - first; }
};

// Stages are as even as possible; where they do not divide, the stages before the last get one
// layer more, from the last but one backwards (vLLM's rule: the last stage has the LM head).
// REQUIRES 0 <= stage < pp.
StageLayers stage_layers(int layers, int pp, int stage);

// Key-value heads that one of `tp` ranks holds: kv_heads/tp, or one copy each when there are fewer
// than ranks. REQUIRES that check_plan accepts.
inline int kv_heads_per_rank(int kv_heads, int tp) { return kv_heads > tp ? kv_heads / tp : 1; }

// Checks a plan against a model. The message says which rule fails and which values are valid.
//
// InputError unless every size is at least 1 and tp*pp*dp at most 2^20. NoData for encoder-decoder
// models (T5): their steps have no program yet. Infeasible unless
// - tp divides the heads of every mixer, and divides or is divided by its key-value heads (groups);
// - tp divides the widths of dense MLPs and shared experts, tp*dp/ep that of routed experts; in
//   whole blocks of 128 where `precision` says fp8_block;
// - ep divides tp*dp and the number of experts, and is 1 without experts;
// - there are at least pp layers.
// The vocabulary is padded, never refused.
void check_plan(const Architecture& model, const ParallelPlan& plan,
                const Precision& precision = {});

}  // namespace orrery
