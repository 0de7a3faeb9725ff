#include "orrery/base/kinds.h"
#include "orrery/serving/scheduler.h"

namespace orrery {

const std::vector<SchedulerKind>& scheduler_kinds() {
  static const std::vector<SchedulerKind> kinds = {
      {"vllm", "vLLM V1 (0.19): one token budget for prompts and decodes", make_vllm_v1},
      {"vllm-v0", "vLLM before V1: steps of prompts alone before steps of decodes", make_vllm_v0},
      {"sarathi", "Sarathi-Serve: decodes, then prompts in what is left of a chunk", make_sarathi},
      {"orca", "Orca: whole prompts beside decodes, memory reserved for all output", make_orca},
      {"static", "a batch runs until its last member is done", make_static_batching},
      {"sglang", "SGLang: prompts first, longest cached prefix first", make_sglang},
      {"trtllm", "TensorRT-LLM in-flight batching, guaranteed no evict", make_trtllm_no_evict},
      {"trtllm-max-utilization", "TensorRT-LLM in-flight batching, maximum utilisation",
       make_trtllm_max_utilization},
      {"lightllm", "LightLLM: admission by the coming peak of KV memory", make_lightllm},
  };
  return kinds;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view name) {
  return kind_named(scheduler_kinds(), "scheduler", name).make();
}

}  // namespace orrery
