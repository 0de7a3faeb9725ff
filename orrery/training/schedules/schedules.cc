#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {

std::string_view to_text(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "F";
    case Pass::kBackward:
      return "B";
    case Pass::kBackwardInput:
      return "I";
    case Pass::kBackwardWeight:
      return "W";
  }
  return "?";
}

void PipelineSchedule::check(const PipelineShape& shape) const {
  const auto positive = [](int count, std::string_view what) {
    if (count < 1) throw InputError(fmt::format("{} must be at least 1, not {}", what, count));
  };
  positive(shape.stages, "pipeline stages");
  positive(shape.chunks, "chunks a stage");
  positive(shape.micro_batches, "micro-batches");
  check_rules(shape);
}

int PipelineSchedule::stage_of(int virtual_stage, const PipelineShape& shape) const {
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      if (this->virtual_stage(stage, chunk, shape) == virtual_stage) return stage;
    }
  }
  throw InputError(
      fmt::format("no virtual stage {} among {}", virtual_stage, shape.virtual_stages()));
}

void require_chunks(std::string_view schedule, const PipelineShape& shape, int chunks) {
  if (shape.chunks == chunks) return;
  throw Infeasible(fmt::format("pipeline schedule {} has {} a stage, not {}", schedule,
                               chunks == 1 ? "one chunk" : fmt::format("{} chunks", chunks),
                               shape.chunks));
}

#define KIND(name, get, ...) const PipelineSchedule& get();
#include "orrery/workload/plan/pipeline_schedules.def"
#undef KIND

const PipelineSchedule& pipeline_schedule(std::string_view name) {
  using Get = const PipelineSchedule& (*)();
  static constexpr Get kGet[] = {
#define KIND(name, get, ...) get,
#include "orrery/workload/plan/pipeline_schedules.def"
#undef KIND
  };
  return kGet[&pipeline_schedule_kind(name) - pipeline_schedule_kinds().data()]();
}

}  // namespace orrery
