#include "orrery/validate/rows/stack_defaults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
#include "orrery/hardware/segments.h"
#include "orrery/training/iteration/stack_release_date.h"

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

StackDefaults stack_defaults(const std::vector<TrainingStackProfile>& stacks,
                             std::string_view framework, std::string_view version,
                             std::string_view dtype) {
  const TrainingStackProfile* stack = nullptr;
  const StackFramework* known = nullptr;
  for (const TrainingStackProfile& s : stacks) {
    for (const StackFramework& f : s.frameworks) {
      if (contains(framework, f.name) && (!known || f.name.size() > known->name.size()))
        stack = &s, known = &f;
    }
  }
  StackDefaults out;
  out.year = year_of(version);
  out.tuned = out.year == 0 || out.year > 2022;
  if (!stack) return out;
  static_cast<StackRecipe&>(out) = out.tuned ? stack->recipe : stack->recipe_before_2023;
  if (!out.tuned && !stack->stack_before_2023.empty()) {
    stack = &kind_named(stacks, "training stack", stack->stack_before_2023);
    static_cast<StackRecipe&>(out) = stack->recipe;
  }
  out.name = stack->name;
  out.gradients = dtype == "fp16" ? out.fp16_gradients : known->gradients.value_or(out.gradients);
  out.tp_overlap = known->tp_overlap.value_or(out.tp_overlap);
  out.compiled = known->compiled.value_or(out.compiled);
  out.current_scaling = known->current_scaling.value_or(out.current_scaling);
  out.lora_rank = known->lora_rank.value_or(out.lora_rank);
  out.attention = known->attention;
  out.zero_stage = out.zero.value_or(stack->zero);
  out.sequence_parallel = stack->sequence_parallel;
  return out;
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

std::optional<TorchVersion> stated_torch(std::string_view version) {
  const std::size_t named = version.find("torch ");
  if (named != std::string_view::npos) version.remove_prefix(named + 6);
  // Without the name, only a version with a build of CUDA is PyTorch's.
  if (named == std::string_view::npos && !contains(version, " cu")) return std::nullopt;
  return read_torch_version(version.substr(0, version.find(' ')));
}

std::optional<StatedScript> stated_script(std::string_view source, std::string_view reference) {
  struct Script {
    std::string_view page, commit;
    StatedScript states;
  };
  constexpr Script kScripts[] = {
      {"grok1/", "35a9aecc8", {"24.09", "flash2", true}},
      {"grok1/", "8f5cbb379", {"24.12", "flash2", true}},
      {"llama3/", "8f5cbb379", {"24.12", "", false}},
      {"ft_llama3/", "741c88602", {"24.12", "", false}},
      {"llama3.1/", "8f5cbb379", {"24.12", "cudnn", true}},
      {"llama3.1/", "741c88602", {"25.02.01", "", false}},
      // The script of the commit before (143b90dd9) states this library.
      {"nemo_megatron/", "35a9aecc8", {"24.05", "flash2", true}},
      {"nemo_megatron/", "8f5cbb379", {"24.12", "cudnn", true}},
      {"nemo_megatron/", "741c88602", {"24.12", "cudnn", true}},
      {"nemotron/README_15b", "35a9aecc8", {"", "cudnn", true}},
      {"nemotron/README_15b", "8f5cbb379", {"24.12", "cudnn", true}},
      {"nemotron/README_340b", "35a9aecc8", {"", "flash2", true}},
      {"nemotron/README_340b", "8f5cbb379", {"24.09", "flash2", true}},
  };
  // Its benchmarks of 2023 were submitted with Triton's attention: the default of --attn_impl in
  // scripts/train/benchmarking/submit_benchmarks.py at 12a63191 and in the sweeps beside it
  // (h100_benchmarks.sh at 11663ba8, which sets none).
  if (source == "llm-foundry" &&
      (reference.ends_with("300cc5c58") || reference.ends_with("b2a43a147")))
    return StatedScript{"", "triton", false};
  if (source != "dgxc-benchmarking") return std::nullopt;
  for (const Script& s : kScripts)
    if (reference.starts_with(s.page) && reference.ends_with(s.commit)) return s.states;
  return std::nullopt;
}

std::optional<StatedExperts> stated_experts(std::string_view source, std::string_view reference,
                                            std::string_view gpu) {
  if (source != "dgxc-benchmarking" || !reference.starts_with("grok1/")) return std::nullopt;
  // The recipes drop what is above an expert's capacity of 1, and fill up to it
  // (grok1/grok1_314b.yaml: moe_expert_capacity_factor; NeMo's MegatronTokenDropCallback).
  constexpr double kCapacity = 1;
  // README_314b.md's state no ETP: Megatron's default is tp. README.md has a column of it: 4 on
  // GB200 (tp 4), 1 on H100.
  // The rows of README_314b.md were run with NeMo 1's recipe, which leaves
  // cross_entropy_loss_fusion at its default, off (configure.sh turns ub_tp_comm_overlap on).
  const bool of_nemo1 = reference.starts_with("grok1/README_314b.md");
  return StatedExperts{of_nemo1 || gpu.starts_with("gb") ? 0 : 1, kCapacity, of_nemo1};
}

int stated_expert_ranks(std::string_view source, std::string_view model) {
  return source == "nemo-automodel" && model == "gpt-oss-120b" ? 64 : 1;
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

bool has_hybrid_ep(std::string_view source, std::string_view model, std::string_view gpu,
                   std::string_view version) {
  // Its presets of 2026 for racks (configs/qwen, deepseek, kimi and nemotronh). In one node and on
  // InfiniBand kFlex is DeepEP.
  if (source != "megatron-bridge" || version < "26.02" || !gpu.starts_with("gb")) return false;
  return model.starts_with("qwen3-") || model.starts_with("deepseek-v3") ||
         model.starts_with("kimi") || model.starts_with("nemotron-3-nano");
}

std::vector<RecomputeModule> stated_modules(std::string_view source, std::string_view model,
                                            std::string_view gpu, std::string_view dtype,
                                            std::string_view version) {
  using enum RecomputeModule;
  if (source != "megatron-bridge") return {};
  if (overlaps_experts(source, model, gpu, dtype, version) && !gpu.starts_with("gb200")) return {};
  if (model.starts_with("gpt-oss")) {
    if (contains(gpu, "b300") || dtype != "bf16") return {};
    return {kLayerNorm, kMoeActivation};
  }
  if (!model.starts_with("deepseek-v3") && !model.starts_with("kimi")) return {};
  if (gpu.starts_with("h100")) return {kMlaUpProj, kMlp};
  if (gpu.starts_with("gb200") && dtype == "fp8") return {kMlp};
  if (gpu.starts_with("gb300") && dtype == "bf16") return {kMoeActivation};
  return {kMlaUpProj};
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
