// Interleaved 1F1B (Narayanan et al. 2021; the order of Megatron Core's schedule table) and its
// variant with pairs.
//
// Stage i holds the virtual stages i, p + i, 2p + i, ... Micro-batches go through in groups: all
// micro-batches of a group through chunk 0, then all through chunk 1, and so on; backward in the
// same way with the chunks reversed. Stage i starts with 2(p - 1 - i) + (v - 1)g forwards, where g
// is the size of the largest group.
//
// If p divides m, groups have p micro-batches. If it does not, Megatron Core refuses the job or
// takes larger groups (microbatch_group_size_per_vp_stage), and PyTorch makes floor(m/p) equal
// groups. Here there are max(1, floor(m/p)) groups of nearly equal size. A last group with fewer
// than p micro-batches would deadlock (p = 4, v = 3, m = 5) or idle.
//
// "combined" starts with one more forward. A forward and the backward that follows it then belong
// to different micro-batches and run as a pair (Megatron Core's combined 1F1B, for
// --overlap-moe-expert-parallel-comm. Megatron Core needs several chunks for it in a pipeline; here
// one is enough). A last stage runs w = (v - 1)g + 1 passes of each kind alone, and all others in
// pairs of length P. The iteration takes
//
//   (p - 1 + (v - 1) max(0, p - m) + w)(F + B) + (mv - w) P
//
// which is exact if a pair is at least as long as each of its passes.
#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

class Interleaved : public PipelineSchedule {
 public:
  explicit Interleaved(bool pairs)
      : PipelineSchedule(pairs ? "combined" : "interleaved"), pairs_(pairs) {}

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int p = shape.stages, v = shape.chunks, total = shape.micro_batches * v;
    const int first =
        std::min(total, 2 * (p - 1 - stage) + (v - 1) * largest_group(shape) + (pairs_ ? 1 : 0));
    for (int k = 0; k < first; ++k) tasks.push_back(forward(k, shape));
    for (int k = 0; k < total; ++k) {
      if (k + first < total) {
        tasks.push_back(forward(k + first, shape));
        tasks.back().paired = pairs_;
      }
      PipelineTask task = forward(k, shape);
      tasks.push_back({Pass::kBackward, task.micro_batch, v - 1 - task.chunk});
    }
  }

  // Holds for any number of micro-batches. With m < p there are v - 1 gaps of p - m micro-batches.
  // Calculon's term (v - 1)(p - m mod p) equals this for m < p; for m > p groups of nearly equal
  // size leave no gap.
  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& chunk) const override {
    const int p = shape.stages, v = shape.chunks, m = shape.micro_batches;
    const int idle = p - 1 + (v - 1) * std::max(0, p - m);
    if (pairs_) {
      const Seconds alone = chunk.forward + chunk.backward(), pair = pair_time(chunk, chunk);
      const int first = std::min(m * v, (v - 1) * largest_group(shape) + 1);
      return {(idle + first) * alone + (m * v - first) * pair,
              static_cast<double>(std::min(m * v, (v - 1) * largest_group(shape) + 2 * p)),
              pair >= std::max(chunk.forward, chunk.backward())};
    }
    return {(m * v + idle) * (chunk.forward + chunk.backward()),
            static_cast<double>(std::min(m * v, (v - 1) * largest_group(shape) + 2 * p - 1)), true};
  }

 private:
  // The task of the k-th forward of a stage.
  static PipelineTask forward(int k, const PipelineShape& shape) {
    const int v = shape.chunks, groups = groups_of(shape), size = shape.micro_batches / groups;
    const int larger = shape.micro_batches % groups;  // the first groups have one micro-batch more
    int group = k / ((size + 1) * v);
    if (group >= larger) group = larger + (k - larger * (size + 1) * v) / (size * v);
    const int begin = group * size + std::min(group, larger);
    const int within = k - begin * v, this_size = size + (group < larger ? 1 : 0);
    return {Pass::kForward, begin + within % this_size, within / this_size};
  }
  static int groups_of(const PipelineShape& shape) {
    return std::max(1, shape.micro_batches / shape.stages);
  }
  static int largest_group(const PipelineShape& shape) {
    const int groups = groups_of(shape);
    return (shape.micro_batches + groups - 1) / groups;
  }

  void check_rules(const PipelineShape& shape) const override {
    if (!pairs_ && shape.chunks < 2) {
      throw Infeasible("pipeline schedule interleaved needs at least 2 chunks a stage, not 1");
    }
  }

  bool pairs_;
};

}  // namespace

const PipelineSchedule& interleaved_schedule() {
  static const Interleaved schedule(false);
  return schedule;
}

const PipelineSchedule& combined_schedule() {
  static const Interleaved schedule(true);
  return schedule;
}

}  // namespace orrery
