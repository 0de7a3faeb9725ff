#include "orrery/training/stacks.h"

#include "orrery/base/kinds.h"

namespace orrery {

const std::vector<TrainingStackKind>& training_stacks() {
  static const std::vector<TrainingStackKind> kinds = {
      {"megatron", true, 1, true, false, "Megatron-LM, Megatron Core, NeMo, Megatron Bridge"},
      {"fsdp", false, 3, true, false, "PyTorch FSDP and FSDP2: torchtitan, llm-foundry, AutoModel"},
      {"megatron-2021", true, 0, false, false,
       "Megatron-LM before 2023: dropout, unfused attention"},
      {"megatron-deepspeed", true, 1, false, false, "Megatron-LM under DeepSpeed"},
      {"deepspeed", false, 3, false, false, "DeepSpeed ZeRO under Hugging Face models"},
      {"internevo", true, 1, true, true, "InternEvo"},
      {"llmq", true, 1, false, false, "LLM.Q, in CUDA C++"},
      {"torchtune", false, 3, false, false, "torchtune: fine-tuning on one node"},
      {"litgpt", false, 3, false, false, "LitGPT: fine-tuning on one node"},
      {"oneflow", true, 0, false, false, "OneFlow's static graphs"},
      {"colossalai", true, 1, false, false, "Colossal-AI"},
      {"maxtext", true, 3, false, false, "MaxText and other JAX stacks under XLA"},
      {"hf", false, 0, false, false, "Hugging Face transformers and PEFT"},
  };
  return kinds;
}

const TrainingStackKind& training_stack(std::string_view name) {
  return kind_named(training_stacks(), "training stack", name);
}

}  // namespace orrery
