#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
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

int PipelineSchedule::virtual_stage(int stage, int chunk, const PipelineShape& shape) const {
  return chunk * shape.stages + stage;
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

const std::vector<PipelineScheduleKind>& pipeline_schedule_kinds() {
  static const std::vector<PipelineScheduleKind> kinds = {
      {"gpipe", "all forwards, then all backwards", gpipe_schedule},
      {"1f1b", "one forward, one backward; activations of at most pp micro-batches",
       one_f_one_b_schedule},
      {"interleaved", "1F1B over several chunks a stage (Megatron's virtual pipeline)",
       interleaved_schedule},
      {"zb-h1", "1F1B with gradients of weights put off to fill the end", zero_bubble_h1_schedule},
      {"zb-h2", "as zb-h1 with more forwards first; needs almost twice the activations",
       zero_bubble_h2_schedule},
      {"zb-v", "zero bubble over two chunks a stage laid out as a V", zero_bubble_v_schedule},
      {"dualpipe", "two copies of the model, fed from both ends; forwards overlap backwards",
       dual_pipe_schedule},
      {"dualpipe-v", "DualPipe cut in half: one copy, two chunks a stage laid out as a V",
       dual_pipe_v_schedule},
      {"combined", "1F1B or interleaved; each forward beside another micro-batch's backward",
       combined_schedule},
  };
  return kinds;
}

const PipelineSchedule& pipeline_schedule(std::string_view name) {
  return kind_named(pipeline_schedule_kinds(), "pipeline schedule", name).get();
}

}  // namespace orrery
