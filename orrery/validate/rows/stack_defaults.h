// Defaults of the training stacks in rows of the measured training tables that state no such field.
// The ZeRO stage and sequence parallelism are those of workload/plan/training_stack.h; the other
// defaults are here. They come from each stack's documentation and default configurations. A row
// that states a field overrides its default.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/dtype.h"
#include "orrery/hardware/catalog.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct StackDefaults {
  // megatron (Megatron-LM, Core, NeMo, Bridge, nanotron, Primus, MegaScale), megatron-2021 (the
  // same of 2022 and before), megatron-deepspeed,
  // fsdp (PyTorch FSDP: llm-foundry, torchtitan, AutoModel, fms-fsdp, Meta), deepspeed, internevo,
  // llmq, litgpt, torchtune, oneflow, colossalai, hf, maxtext, neuronx; empty: none of them.
  std::string name;
  int year = 0;       // of the version; 0: unknown
  bool tuned = true;  // since 2022: flash attention, overlapped communication
  Dtype gradients = Dtype::kFp32;
  bool master_weights = true;
  Dtype moments = Dtype::kFp32;
  bool dropout = false;
  bool compiled = false;
  bool fused_cross_entropy = false;
  bool sequence_parallel = false;  // where tp > 1
  bool tp_overlap = false;
  bool dp_overlap = true;
  int zero = 0;
  Recompute recompute = Recompute::kNone;
  int lora_rank = 8;
};

// `version` as the row has it: "26.04", "2025-06-09", "0.8.0"; `dtype`: of the products.
StackDefaults stack_defaults(std::string_view framework, std::string_view version,
                             std::string_view dtype);

// Date of the version's release, in years; empty if the version does not state one ("torch 2.13").
std::optional<double> stated_release(std::string_view version);

// Settings that the table has no column for, as stated by the page or recipe that a row cites: of
// routed experts, and of features that the stack's defaults would turn on.
struct StatedExperts {
  int etp = 0;          // 0: tp
  double capacity = 0;  // tokens an expert takes at most, over the mean; 0: all
  bool plain = false;   // no tensor-parallel overlap (ub_tp_comm_overlap), no fused loss
};
std::optional<StatedExperts> stated_experts(std::string_view source, std::string_view reference,
                                            std::string_view gpu);

// Whether the recipe of a release of Megatron Bridge runs the mxfp8 experts of a mixture in one
// fused kernel, and overlaps their exchange by HybridEP with the computation of another micro-batch
// (cutedsl_fused_grouped_mlp and moe_a2a_overlap of its performance configurations). The table has
// no column for these options.
bool overlaps_experts(std::string_view source, std::string_view model, std::string_view gpu,
                      std::string_view dtype, std::string_view version);

struct StatedNode {
  NodeType node;
  bool network_stated = false;  // false: the node's own default
};

// The GPU's usual node with the GPUs of a node and the network that a row states ("NVLink; RoCE
// 1600 Gb/s per node"). A rack of trays stays a rack, of which a job of `gpus` takes segments.
StatedNode stated_node(const Catalog& catalog, const Gpu& gpu, std::string_view interconnect,
                       int gpus_per_node, int gpus);

}  // namespace orrery
