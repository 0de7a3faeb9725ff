#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/serving/scheduler.h"

namespace orrery {

const std::vector<SchedulerKind>& scheduler_kinds() {
  static const std::vector<SchedulerKind> kinds = {
      {"vllm", "vLLM V1 (0.19): one token budget for prompts and decodes", make_vllm_v1},
  };
  return kinds;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view name) {
  std::vector<std::string> names;
  for (const SchedulerKind& k : scheduler_kinds()) {
    if (k.name == name) return k.make();
    names.emplace_back(k.name);
  }
  throw InputError(fmt::format("unknown scheduler '{}'{}", name, did_you_mean(name, names)));
}

}  // namespace orrery
