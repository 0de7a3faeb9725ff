// Interleaved 1F1B (Narayanan et al. 2021; the order of Megatron-core's schedule table): stage i
// holds the virtual stages i, p + i, 2p + i ... Micro-batches go in groups of p: all of a group
// through chunk 0, then all through chunk 1 ...; backwards the same with the chunks reversed.
// Stage i runs 2(p - 1 - i) + (v - 1)p forwards first.
#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/training/schedule.h"

namespace orrery {
namespace {

class Interleaved : public PipelineSchedule {
 public:
  std::string_view name() const override { return "interleaved"; }
  int least_chunks() const override { return 2; }

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int p = shape.stages, v = shape.chunks, total = shape.micro_batches * v;
    const int first = std::min(total, 2 * (p - 1 - stage) + (v - 1) * p);
    for (int k = 0; k < first; ++k) tasks.push_back(forward(k, shape));
    for (int k = 0; k < total; ++k) {
      if (k + first < total) tasks.push_back(forward(k + first, shape));
      PipelineTask task = forward(k, shape);
      tasks.push_back({Pass::kBackward, task.micro_batch, v - 1 - task.chunk});
    }
  }

  PipelineForm closed_form(const PipelineShape& shape, const ChunkTimes& chunk) const override {
    const int p = shape.stages, v = shape.chunks, m = shape.micro_batches;
    return {(m * v + p - 1) * (chunk.forward + chunk.backward()),
            static_cast<double>(std::min(m * v, (v + 1) * p - 1))};
  }

 private:
  // The k-th forward.
  static PipelineTask forward(int k, const PipelineShape& shape) {
    const int group = k / (shape.stages * shape.chunks), begin = group * shape.stages;
    const int size = std::min(shape.stages, shape.micro_batches - begin);
    const int within = k - begin * shape.chunks;
    return {Pass::kForward, begin + within % size, within / size};
  }

  void check_rules(const PipelineShape& shape) const override { (void)shape; }
};

}  // namespace

const PipelineSchedule& interleaved_schedule() {
  static const Interleaved schedule;
  return schedule;
}

}  // namespace orrery
