#include "orrery/validate/fit/service_trust.h"

#include <string>

namespace orrery {

bool distrusted(const MeasuredRow& row) {
  if (row.engine != "sglang") return false;
  const ScenarioKeys& keys = row.keys;
  const std::int64_t users = keys.number("workload.batch");
  if (users >= 512) return true;
  if (!keys.text("model").starts_with("deepseek-r1")) return false;
  if (row.system.starts_with("b300")) return true;
  const std::string budget = keys.engine_text("scheduler.max_num_batched_tokens");
  return keys.engine_text("execution.cold") == "true" && !budget.empty() &&
         users * keys.number("workload.isl") > std::stoll(budget);
}

}  // namespace orrery
