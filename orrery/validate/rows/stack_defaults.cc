#include "orrery/validate/rows/stack_defaults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "orrery/base/error.h"
#include "orrery/hardware/segments.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "2025-06-09", "24.09", "NeMo24.07": the year; 0 for "0.8.0" and the like.
int year_of(std::string_view version) {
  const std::size_t digits = version.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  version.remove_prefix(digits);
  int year = 0;
  std::from_chars(version.data(), version.data() + version.size(), year);
  if (year >= 2015 && year < 2100) return year;
  const bool container = year >= 20 && year < 40 && version.size() >= 5 && version[2] == '.';
  return container ? 2000 + year : 0;
}

struct Known {
  std::string_view part, stack;
};
// The first entry whose text is part of the framework's name.
constexpr std::array<Known, 29> kKnown = {{
    {"Megatron-DeepSpeed", "megatron-deepspeed"},
    {"Megatron-LM + DeepSpeed", "megatron-deepspeed"},
    {"AutoModel", "fsdp"},
    {"llm-foundry", "fsdp"},
    {"torchtitan", "fsdp"},
    {"fms-fsdp", "fsdp"},
    {"(FSDP", "fsdp"},
    {"Meta internal", "fsdp"},
    {"metaseq", "fsdp"},
    {"DeepSpeed", "deepspeed"},
    {"InternEvo", "internevo"},
    {"LLMQ", "llmq"},
    {"LitGPT", "litgpt"},
    {"torchtune", "torchtune"},
    {"OneFlow", "oneflow"},
    {"Colossal-AI", "colossalai"},
    {"HF PEFT", "hf"},
    {"FlashAttention training", "hf"},
    {"MaxText", "maxtext"},
    {"Paxml", "maxtext"},
    {"Levanter", "maxtext"},
    {"Pathways", "maxtext"},
    {"NeuronX", "neuronx"},
    {"Megatron", "megatron"},
    {"NeMo", "megatron"},
    {"Primus", "megatron"},
    {"MegaScale", "megatron"},
    {"nanotron", "megatron"},
    {"HAI-LLM", "megatron"},
}};

struct Network {
  std::string_view part, fabric;
  int ports;
};
// The first entry whose text is part of the interconnect's description. Omni-Path has 100 Gb/s per
// port, like InfiniBand EDR.
constexpr std::array<Network, 13> kNetworks = {{
    {"4x100 Gb/s Omni-Path", "ib-edr", 4},
    {"Omni-Path 4x100", "ib-edr", 4},
    {"100 Gb/s InfiniBand per node", "ib-edr", 1},
    {"4x100 Gb/s RoCE", "roce-100", 4},
    {"RoCE 1600 Gb/s", "roce-200", 8},
    {"8x200 Gb/s RoCE", "roce-200", 8},
    {"InfiniBand 8x200", "ib-hdr", 8},
    {"InfiniBand HDR 8x200", "ib-hdr", 8},
    {"InfiniBand 8x400", "ib-ndr", 8},
    {"RoCE 8x400", "roce-400", 8},
    {"RDMA 400 Gb/s per GPU", "roce-400", 8},
    {"800 Gb/s per node", "roce-100", 8},
    {"400 Gb/s per node", "roce-100", 4},
}};

}  // namespace

StackDefaults stack_defaults(std::string_view framework, std::string_view version,
                             std::string_view dtype) {
  StackDefaults s;
  const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                  [&](const Known& k) { return contains(framework, k.part); });
  if (known != kKnown.end()) s.name = known->stack;
  s.year = year_of(version);
  s.tuned = s.year == 0 || s.year > 2022;
  const bool megatron = s.name.starts_with("megatron");
  if (s.name == "deepspeed") s.dp_overlap = s.tuned;
  // Megatron accumulates in fp32 where it trains in bf16; NeMo's and Bridge's performance recipes
  // set grad_reduce_in_fp32 false. fp16 jobs keep fp16 gradients and scale the loss.
  if (dtype == "fp16") {
    s.gradients = Dtype::kFp16;
  } else if (contains(framework, "NeMo") || contains(framework, "Bridge")) {
    s.gradients = Dtype::kBf16;
  }
  if (megatron) {
    if (!s.tuned && s.name == "megatron") s.name = "megatron-2021";
    s.dropout = !s.tuned;
    if (!s.tuned) s.recompute = Recompute::kFull;
    s.dp_overlap = s.tuned && s.name == "megatron";
    s.tp_overlap = contains(framework, "NeMo") || contains(framework, "Bridge") ||
                   contains(framework, "Scale");
    s.fused_cross_entropy = s.tuned;
    if (contains(framework, "NeMo") || contains(framework, "Bridge")) s.lora_rank = 32;
  } else if (s.name == "fsdp") {
    s.compiled = contains(framework, "torchtitan");
    // FSDP's reductions are in bf16 by fms-fsdp's policy (bfSixteen).
    if (contains(framework, "fms")) s.gradients = Dtype::kBf16;
  } else if (s.name == "deepspeed" || s.name == "internevo") {
    s.gradients = Dtype::kBf16;
  } else if (s.name == "llmq") {
    // Weights, gradients and moments in bf16 with stochastic rounding; fused CUDA kernels.
    s.gradients = s.moments = Dtype::kBf16;
    s.master_weights = false;
    s.compiled = s.fused_cross_entropy = true;
  } else if (s.name == "torchtune" || s.name == "litgpt") {
    s.gradients = s.moments = Dtype::kBf16;
    s.master_weights = false;
  } else if (s.name == "oneflow") {
    s.compiled = true;  // a static graph
    s.dropout = true;
    s.recompute = Recompute::kFull;
  }
  const auto& kinds = training_stacks();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.name == s.name; });
  if (kind != kinds.end()) s.zero = kind->zero, s.sequence_parallel = kind->sequence_parallel;
  // Rows of these stacks state how several GPUs shard.
  if (s.name == "torchtune" || s.name == "litgpt") s.zero = 0;
  return s;
}

std::optional<double> stated_release(std::string_view version) {
  if (version.starts_with("NeMo")) version.remove_prefix(4);
  version = version.substr(0, version.find(".."));  // "2021-05..2021-10"
  try {
    return stack_release_date(version);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<StatedExperts> stated_experts(std::string_view source, std::string_view reference,
                                            std::string_view gpu) {
  if (source != "dgxc-benchmarking" || !reference.starts_with("grok1/")) return std::nullopt;
  // The recipes drop what is above an expert's capacity of 1, and fill up to it
  // (grok1/grok1_314b.yaml: moe_expert_capacity_factor; NeMo's MegatronTokenDropCallback).
  constexpr double kCapacity = 1;
  // README_314b.md's state no ETP: Megatron's default is tp. README.md has a column of it: 4 on
  // GB200 (tp 4), 1 on H100.
  // The rows of README_314b.md were run with NeMo 1's recipe, which turns ub_tp_comm_overlap off
  // and leaves cross_entropy_loss_fusion at its default, off.
  const bool of_nemo1 = reference.starts_with("grok1/README_314b.md");
  return StatedExperts{of_nemo1 || gpu.starts_with("gb") ? 0 : 1, kCapacity, of_nemo1};
}

bool overlaps_experts(std::string_view source, std::string_view model, std::string_view gpu,
                      std::string_view dtype, std::string_view version) {
  const bool blackwell = contains(gpu, "b200") || contains(gpu, "b300");
  if (source != "megatron-bridge" || dtype != "mxfp8" || !blackwell) return false;
  // Its pull requests 3983 and 4226 (DeepSeek-V3 on GB300, GB200) are of release 26.06, as Qwen3's
  // and gpt-oss's; 4606 (Qwen3 on B200, B300) of 26.06.01; Kimi on GB300 came with 26.08 (5168).
  // Nemotron 3 has the kernel only since August 2026 (5620), and never the overlap.
  const bool rack = gpu.starts_with("gb");
  if (model.starts_with("deepseek-v3")) return rack && version >= "26.06";
  if (model.starts_with("qwen3-") && !contains(model, "next"))
    return version >= (rack ? "26.06" : "26.06.01");
  if (model.starts_with("gpt-oss")) return version >= "26.06";
  return model.starts_with("kimi") && gpu.starts_with("gb300") && version >= "26.08";
}

StatedNode stated_node(const Catalog& catalog, const Gpu& gpu, std::string_view interconnect,
                       int gpus_per_node, int gpus) {
  StatedNode out;
  out.node = catalog.node_type(gpu.node);
  const bool rack = out.node.gpus_per_host > 0 && out.node.gpus_per_host < out.node.gpu_count;
  if (gpus_per_node > 1 && !rack) out.node.gpu_count = gpus_per_node;
  out.node = in_segments(std::move(out.node), gpus);
  if (contains(interconnect, "EFA") || contains(interconnect, "TCPX")) {
    const char* named = contains(interconnect, "TCPX") ? "gcp-a3-high"
                        : gpu.id.starts_with("a1")     ? "aws-p4d"
                                                       : "aws-p5";
    out.node.network = catalog.node_type(named).network;
    out.network_stated = true;
    return out;
  }
  for (const Network& n : kNetworks) {
    if (!contains(interconnect, n.part)) continue;
    out.node.network = {std::string(n.fabric), n.ports};
    out.network_stated = true;
    break;
  }
  return out;
}

}  // namespace orrery
