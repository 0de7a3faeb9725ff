#include "orrery/training/stacks.h"

#include "orrery/base/kinds.h"

namespace orrery {

const std::vector<TrainingStackKind>& training_stacks() {
  static const std::vector<TrainingStackKind> kinds = {
      {"megatron", true, 1, true, "Megatron-LM, Megatron Core, NeMo, Megatron Bridge"},
      {"fsdp", false, 3, true, "PyTorch FSDP and FSDP2: torchtitan, llm-foundry, AutoModel"},
      {"megatron-deepspeed", true, 1, false, "Megatron-LM under DeepSpeed"},
      {"deepspeed", false, 3, false, "DeepSpeed ZeRO under Hugging Face models"},
      {"internevo", true, 1, true, "InternEvo"},
      {"llmq", true, 1, false, "LLM.Q, in CUDA C++"},
      {"torchtune", false, 3, false, "torchtune: fine-tuning on one node"},
      {"litgpt", false, 3, false, "LitGPT: fine-tuning on one node"},
      {"oneflow", true, 0, false, "OneFlow's static graphs"},
      {"hf", false, 0, false, "Hugging Face transformers and PEFT"},
  };
  return kinds;
}

const TrainingStackKind& training_stack(std::string_view name) {
  return kind_named(training_stacks(), "training stack", name);
}

}  // namespace orrery
