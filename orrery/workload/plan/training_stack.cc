#include "orrery/workload/plan/training_stack.h"

#include "orrery/base/kinds.h"

namespace orrery {
namespace {

constexpr StackTraits kEager = {.fused = false};
constexpr StackTraits kFused = {.fused = true};
// torchtitan's experts are torch._grouped_mm's by default (MoEArgs.use_grouped_mm); from memory:
// Hugging Face's run one after the other, MaxText's by megablox's grouped kernel.
constexpr StackTraits kFsdp = {.fused = false, .grouped_experts = true};
constexpr StackTraits kJax = {.fused = true, .grouped_experts = true};
// Buckets by each stack's defaults, as public sources have them: Megatron Core's
// DistributedDataParallelConfig (40 M parameters, 1 M a data-parallel rank), DeepSpeed's
// reduce_bucket_size (5e8), the hybrid_zero_optimizer of InternEvo's configurations (512 Mi).
constexpr StackTraits kMegatron = {.fused = true,
                                   .fused_accumulation = true,
                                   .async_gradients = true,
                                   .bucket = 40e6,
                                   .bucket_of_rank = 1e6};
constexpr StackTraits kPipeEngine = {.fused = true, .whole_sends = true, .bucket = 5e8};
constexpr StackTraits kDeepSpeed = {.fused = false, .bucket = 5e8};
constexpr StackTraits kBroadcasts = {.fused = true, .broadcasts = true, .bucket = 512 * 1048576.0};

}  // namespace

const std::vector<TrainingStackProfile>& training_stacks() {
  static const std::vector<TrainingStackProfile> kinds = {
      {"megatron", kMegatron, 1, true, "Megatron-LM, Megatron Core, NeMo, Megatron Bridge"},
      {"fsdp", kFsdp, 3, true, "PyTorch FSDP and FSDP2: torchtitan, llm-foundry, AutoModel"},
      {"megatron-2021", kFused, 0, false, "Megatron-LM before 2023: dropout, unfused attention"},
      {"megatron-deepspeed", kPipeEngine, 1, false, "Megatron-LM under DeepSpeed"},
      {"deepspeed", kDeepSpeed, 3, false, "DeepSpeed ZeRO under Hugging Face models"},
      {"internevo", kBroadcasts, 1, true, "InternEvo"},
      {"llmq", kFused, 1, false, "LLM.Q, in CUDA C++"},
      {"torchtune", kEager, 3, false, "torchtune: fine-tuning on one node"},
      {"litgpt", kEager, 3, false, "LitGPT: fine-tuning on one node"},
      {"oneflow", kFused, 0, false, "OneFlow's static graphs"},
      {"colossalai", kFused, 1, false, "Colossal-AI"},
      {"maxtext", kJax, 3, false, "MaxText and other JAX stacks under XLA"},
      {"hf", kEager, 0, false, "Hugging Face transformers and PEFT"},
  };
  return kinds;
}

StackTraits stack_traits(const TrainingStackProfile& stack, bool compiled,
                         std::optional<double> release) {
  StackTraits traits = stack.traits;
  traits.fused |= compiled;
  if (stack.name == "megatron-2021" && release.value_or(0) >= 2022)
    traits.fused_accumulation = traits.async_gradients = true;
  return traits;
}

const TrainingStackProfile& training_stack(std::string_view name) {
  return kind_named(training_stacks(), "training stack", name);
}

}  // namespace orrery
