// The training stack of a measured row, and the settings that the row does not state: those of the
// stack's recipes (TrainingStackProfile, catalog/training/stacks).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/workload/plan/training_job.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {

struct StackDefaults : StackRecipe {
  std::string name;   // of the stack; empty: no stack has a name of the row's framework
  int year = 0;       // of the version; 0: unknown
  bool tuned = true;  // of 2023 and later: FlashAttention, overlapped communication
  bool sequence_parallel = false;  // with tp above 1
  int zero_stage = 0;
  std::string attention;  // StackFramework::attention
};

// The stack of `stacks` that has the longest StackFramework::name which is a part of `framework`,
// and its defaults. `version` as the row has it: "26.04", "2025-06-09", "0.8.0". `dtype`: format of
// the large products.
StackDefaults stack_defaults(const std::vector<TrainingStackProfile>& stacks,
                             std::string_view framework, std::string_view version,
                             std::string_view dtype);

// Date of the version's release, in years; empty if the version does not state one ("torch 2.13").
std::optional<double> stated_release(std::string_view version);

// The release of PyTorch in a version ("torch 2.13", "2.11.0 cu130"); empty if it has none.
std::optional<TorchVersion> stated_torch(std::string_view version);

// Settings that the scripts of a page state at the row's commit, and that the table has no column
// for: pages of NVIDIA's dgxc-benchmarking, and those of llm-foundry's benchmarks of 2023. The
// version in the table is the day of the commit or the release of the recipes, which are up to a
// year after NVIDIA's container: on 9 June 2025 the recipes of several releases were published at
// once.
struct StatedScript {
  std::string_view container;  // of NeMo (FW_VERSION of launch.sh, or its image); empty: not known
  std::string_view attention;  // library (NVTE_FUSED_ATTN of configure.sh: 0 is FlashAttention-2, 1
                               // cuDNN; --attn_impl of llm-foundry); empty: not stated
  bool fp8_parameters = false;  // weights are kept in fp8 in jobs of fp8 (model.fp8_params)
};
std::optional<StatedScript> stated_script(std::string_view source, std::string_view reference);

// Settings that the table has no column for, as stated by the page or recipe that a row cites: of
// routed experts, and of features that the stack's defaults would turn on.
struct StatedExperts {
  int etp = 0;              // 0: tp
  double capacity = 0;      // tokens an expert takes at most, over the mean; 0: all
  bool plain_loss = false;  // the loss is not fused
};
std::optional<StatedExperts> stated_experts(std::string_view source, std::string_view reference,
                                            std::string_view gpu);

// The number of ranks that share the experts of a mixture, as the recipe of AutoModel for a model
// states it (examples/benchmark/configs/gptoss_120b_te_deepep.yaml: ep_size 64), where the table's
// column is empty. 1: no recipe states another.
int stated_expert_ranks(std::string_view source, std::string_view model);

// Whether the recipe of a release of Megatron Bridge runs the mxfp8 experts of a mixture in one
// fused kernel, and overlaps their exchange by HybridEP with the computation of another micro-batch
// (cutedsl_fused_grouped_mlp and moe_a2a_overlap of its performance configurations). The table has
// no column for these options.
bool overlaps_experts(std::string_view source, std::string_view model, std::string_view gpu,
                      std::string_view dtype, std::string_view version);

// Whether the recipe of a release of Megatron Bridge moves the tokens of a mixture by HybridEP
// (moe_flex_dispatcher_backend of its performance configurations).
bool has_hybrid_ep(std::string_view source, std::string_view model, std::string_view gpu,
                   std::string_view version);

// The modules that the preset of Megatron Bridge for a model and GPU computes again
// (recompute_modules of its performance configurations of DeepSeek-V3, Kimi K2 and gpt-oss). The
// table has no column for them; presets of other models name none.
std::vector<RecomputeModule> stated_modules(std::string_view source, std::string_view model,
                                            std::string_view gpu, std::string_view dtype,
                                            std::string_view version);

struct StatedNode {
  NodeType node;
  bool network_stated = false;  // false: the node's own default
};

// The GPU's usual node with the GPUs of a node and the network that a row states ("NVLink; RoCE
// 1600 Gb/s per node"). A rack of trays stays a rack, of which a job of `gpus` takes segments.
StatedNode stated_node(const Catalog& catalog, const Gpu& gpu, std::string_view interconnect,
                       int gpus_per_node, int gpus);

}  // namespace orrery
