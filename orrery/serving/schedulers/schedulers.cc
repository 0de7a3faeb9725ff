#include "orrery/base/kinds.h"
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {

#define KIND(name, make, doc) std::unique_ptr<Scheduler> make();
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND

const std::vector<SchedulerKind>& scheduler_kinds() {
  static const std::vector<SchedulerKind> kinds = {
#define KIND(name, make, doc) {name, doc, make},
#include "orrery/serving/schedulers/schedulers.def"
#undef KIND
  };
  return kinds;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view name) {
  return kind_named(scheduler_kinds(), "scheduler", name).make();
}

}  // namespace orrery
