#include "orrery/base/kinds.h"
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {

#define KIND(name, make, ...) std::unique_ptr<Scheduler> make();
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND

const std::vector<SchedulerKind>& scheduler_kinds() {
  static const std::vector<SchedulerKind> kinds = {
#define KIND(name, make, doc, ...) {name, doc, make, {__VA_ARGS__}},
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND
  };
  return kinds;
}

const SchedulerKind& scheduler_kind(std::string_view name) {
  return kind_named(scheduler_kinds(), "scheduler", name);
}

std::vector<std::string> schedulers_with(bool SchedulerTraits::* technique) {
  std::vector<std::string> names;
  for (const SchedulerKind& k : scheduler_kinds()) {
    if (k.traits.*technique) names.emplace_back(k.name);
  }
  return names;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view name) {
  return scheduler_kind(name).make();
}

}  // namespace orrery
