// A deployment of an engine: how it is split over devices, in which number formats, and whether a
// model allows it.
#pragma once

#include <compare>
#include <optional>

#include "orrery/base/dtype.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/model/layers/layer_weights.h"
#include "orrery/workload/ops/format.h"
#include "orrery/workload/plan/expert_plan.h"

namespace orrery {

// The parallel dimensions of one engine's deployment, which has tp * pp * dp devices.
struct ParallelPlan {
  int tp = 1;  // tensor parallel size of attention and of dense MLPs
  int pp = 1;  // pipeline stages
  int dp =
      1;  // attention data parallel size: dp groups, each with its own sequences, share the experts
  int ep = 1;  // expert parallel size: number of expert groups
  ExpertPlan experts = {};
  // Decode context parallel size: consecutive tensor-parallel ranks that would hold copies of a
  // key-value head hold the tokens of its cache in turn instead (vLLM's
  // --decode-context-parallel-size, SGLang's --dcp-size). It divides tp, and adds no devices.
  int cp = 1;
  bool cuts_groups = false;  // RankShare::cuts_groups
  // Tensor parallel size of routed experts.
  int moe_tp() const { return tp * dp / ep; }
  int devices() const { return tp * pp * dp; }
  // How many ranks divide a layer.
  RankShare rank_share() const {
    return {.tp = tp,
            .expert_tp = moe_tp(),
            .ep = ep,
            .redundant = experts.redundant,
            .cuts_groups = cuts_groups};
  }
  // Whether tokens travel to their experts by DeepEP's kernels.
  bool dispatches() const {
    return dp > 1 && ep >= dp &&
           (experts.transport == ExpertTransport::kDeepEp ||
            (experts.transport == ExpertTransport::kAuto && ep > kWideExperts));
  }
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
  // Format of the projections of attention and of other mixers, if it differs from `weights`.
  std::optional<Format> mixers = std::nullopt;
  // Format of products that a model wants in fp32 (MoeMlp::router_fp32): fp32, or tf32 if the
  // engine lets tensor cores compute them.
  Format fp32_products = Format::kFp32;
  Format mixer_weights() const { return mixers.value_or(weights); }
};

// The precision in which a checkpoint is served by default: each part in the format in which the
// checkpoint stores most of its bytes (CheckpointQuantization::parts), and attention in 16 bits.
// `weights` is that of dense MLPs, or of shared experts where there are none. The KV cache is fp8
// if the checkpoint names a format for it, as vLLM (resolve_kv_cache_dtype_string) and SGLang do,
// and with compressed attention.
// A checkpoint in fp32 is cast to fp16, as vLLM does.
Precision native_precision(const Architecture& model);

// The format in which operands stored as `dtype` are multiplied unquantised: fp32, fp16, else bf16.
Format plain_format(Dtype dtype);

// Layers [first, last) of the stack that a pipeline stage executes.
struct StageLayers {
  int first = 0, last = 0;
  int size() const { return last - first; }
};

// The layers of a stage, with stages as even as possible. If the layers do not divide by pp, the
// stages before the last get one layer more each, from the last but one backwards. This is vLLM's
// rule: the last stage has the LM head as well. REQUIRES 0 <= stage < pp.
StageLayers stage_layers(int layers, int pp, int stage);

// Checks a plan against a model. The message of an error says which rule fails and which values are
// valid.
//
// InputError unless every size is at least 1 and tp*pp*dp is at most 2^20. NoData for
// encoder-decoder models (T5), whose steps have no program yet, and with cp above 1 for models with
// mixers other than softmax attention over the whole context and latent attention without a sparse
// indexer. Infeasible unless
// - tp divides the heads of every mixer, and divides or is divided by its key-value heads (groups);
// - tp divides the widths of dense MLPs and shared experts, and tp*dp/ep the width of routed
//   experts, into whole blocks of 128 if `precision` is fp8_block;
// - ep divides tp*dp and the number of experts, redundant copies included, and is 1 without
//   experts; no rank holds two copies of an expert;
// - DeepEP and two-batch overlap have attention data parallelism with ep >= dp to move tokens in,
//   and the overlap is that of DeepEP's kernels;
// - cp divides tp, and the ranks that hold copies of a key-value head;
// - there are at least pp layers.
// A vocabulary that does not divide is padded.
void check_plan(const Architecture& model, const ParallelPlan& plan,
                const Precision& precision = {});

}  // namespace orrery
