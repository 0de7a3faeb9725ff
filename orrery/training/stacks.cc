#include "orrery/training/stacks.h"

#include "orrery/base/kinds.h"

namespace orrery {

const std::vector<TrainingStackKind>& training_stacks() {
  static const std::vector<TrainingStackKind> kinds = {
      {"megatron", true, "Megatron-LM, Megatron Core, NeMo, Megatron Bridge"},
      {"fsdp", false, "PyTorch FSDP and FSDP2: torchtitan, llm-foundry, AutoModel"},
      {"megatron-deepspeed", true, "Megatron-LM under DeepSpeed"},
      {"deepspeed", false, "DeepSpeed ZeRO under Hugging Face models"},
      {"internevo", true, "InternEvo"},
      {"llmq", true, "LLM.Q, in CUDA C++"},
      {"torchtune", false, "torchtune: fine-tuning on one node"},
      {"litgpt", false, "LitGPT: fine-tuning on one node"},
      {"oneflow", true, "OneFlow's static graphs"},
      {"hf", false, "Hugging Face transformers and PEFT"},
  };
  return kinds;
}

const TrainingStackKind& training_stack(std::string_view name) {
  return kind_named(training_stacks(), "training stack", name);
}

}  // namespace orrery
