#include "orrery/workload/plan/pipeline_schedules.h"

#include <algorithm>

#include "orrery/base/kinds.h"

namespace orrery {

const std::vector<PipelineScheduleKind>& pipeline_schedule_kinds() {
  static const std::vector<PipelineScheduleKind> kinds = {
#define KIND(name, get, doc, ...) {name, doc, {__VA_ARGS__}},
#include "orrery/workload/plan/pipeline_schedules.def"
#undef KIND
  };
  return kinds;
}

const PipelineScheduleKind& pipeline_schedule_kind(std::string_view name) {
  return kind_named(pipeline_schedule_kinds(), "pipeline schedule", name);
}

int model_copies(ChunkPlacement placement) {
  return placement == ChunkPlacement::kBothEnds ? 2 : 1;
}

int placed_virtual_stage(ChunkPlacement placement, int stage, int chunk, int stages) {
  switch (placement) {
    case ChunkPlacement::kVee:
      return chunk == 0 ? stage : 2 * stages - 1 - stage;
    case ChunkPlacement::kBothEnds:
      return chunk == 0 ? stage : stages - 1 - stage;
    case ChunkPlacement::kLooped:
      break;
  }
  return chunk * stages + stage;
}

}  // namespace orrery
