// 1F1B (PipeDream-Flush, Narayanan et al. 2021): stage i runs p - 1 - i forwards, then a forward
// and a backward in turn, then the remaining backwards.
#include <algorithm>

#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

class OneFOneB : public PipelineSchedule {
 public:
  OneFOneB() : PipelineSchedule("1f1b") {}

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int m = shape.micro_batches, first = std::min(m, shape.stages - 1 - stage);
    for (int k = 0; k < first; ++k) tasks.push_back({Pass::kForward, k});
    for (int k = 0; k < m; ++k) {
      if (k + first < m) tasks.push_back({Pass::kForward, k + first});
      tasks.push_back({Pass::kBackward, k});
    }
  }

  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& chunk) const override {
    return {(shape.micro_batches + shape.stages - 1) * (chunk.forward + chunk.backward()),
            static_cast<double>(std::min(shape.micro_batches, shape.stages)), true};
  }

 private:
  void check_rules(const PipelineShape& shape) const override { require_chunks(name(), shape, 1); }
};

}  // namespace

const PipelineSchedule& one_f_one_b_schedule() {
  static const OneFOneB schedule;
  return schedule;
}

}  // namespace orrery
