// The registry of pipeline schedules: their names, and the properties of each that rooms other than
// training need.
//
// Other rooms never compare a schedule's name. They ask for its traits, so that a new schedule is
// one source file in orrery/training/schedules and one entry of pipeline_schedules.def
// (docs/pipelines.md, section Adding a schedule). The order of passes and the closed form of the
// time are in orrery/training/schedules/schedule.h.
#pragma once

#include <string_view>
#include <vector>

namespace orrery {

// The virtual stages of the model that a pipeline stage holds. With p stages, v chunks a stage, and
// virtual stages numbered from 0 in the order of the model, chunk c of stage s is virtual stage
enum class ChunkPlacement {
  kLooped,    // c p + s
  kVee,       // s for chunk 0, 2p - 1 - s for chunk 1; v is 2
  kBothEnds,  // s for chunk 0, p - 1 - s for chunk 1: two copies of the model, each with v = 1
};

// The sizes on which the number of micro-batches in flight depends.
struct PipelineStageSize {
  double micro_batches;  // of one pipeline in one iteration
  double stages, chunks;
  double to_last;  // number of stages from this one to the last, both included
};

// Properties of a schedule. The defaults hold for an entry that does not name the property.
struct PipelineScheduleTraits {
  // Largest number of micro-batches whose activations of all chunks of the stage are alive at once,
  // for chunks of equal size: chunk-activations alive, divided by the number of chunks.
  double (*in_flight)(const PipelineStageSize& size);
  ChunkPlacement placement = ChunkPlacement::kLooped;
  int least_chunks = 1;  // smallest number of chunks of a stage that the schedule accepts
  // The forward of one micro-batch runs together with the backward of another one, so that the
  // exchange of experts of each overlaps with computation of the other.
  bool pairs_passes = false;
  // The passes of a pair run layer by layer: the backward pass frees as much as the forward pass
  // saves, so that a pair holds a layer more than its backward pass does, and no other micro-batch.
  bool pairs_by_layer = false;
  // The schedule also orders the passes of a job without a pipeline (pp 1).
  bool on_one_stage = false;
  // The schedule that a plan with ep_overlap runs instead of this one; empty: this one.
  std::string_view paired_by_overlap = {};
};

// One entry of pipeline_schedules.def.
struct PipelineScheduleKind {
  std::string_view name, doc;
  PipelineScheduleTraits traits;
};

// All schedules, in the order of pipeline_schedules.def.
const std::vector<PipelineScheduleKind>& pipeline_schedule_kinds();
// Throws InputError with the nearest name if no schedule is called `name`.
const PipelineScheduleKind& pipeline_schedule_kind(std::string_view name);

// Number of copies of the model that one pipeline holds: 2 for kBothEnds, otherwise 1.
int model_copies(ChunkPlacement placement);
// The virtual stage that `stage` holds as its chunk number `chunk`.
// REQUIRES 0 <= stage < stages, 0 <= chunk < chunks a stage * model_copies.
int placed_virtual_stage(ChunkPlacement placement, int stage, int chunk, int stages);

}  // namespace orrery
