// GPipe (Huang et al. 2019): all forwards, then all backwards, both in the order of micro-batches.
#include <algorithm>

#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

class GPipe : public PipelineSchedule {
 public:
  GPipe() : PipelineSchedule("gpipe") {}

  void order(int, const PipelineShape& shape, std::vector<PipelineTask>& tasks) const override {
    for (int k = 0; k < shape.micro_batches; ++k) tasks.push_back({Pass::kForward, k});
    for (int k = 0; k < shape.micro_batches; ++k) tasks.push_back({Pass::kBackward, k});
  }

  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& chunk) const override {
    return {(shape.micro_batches + shape.stages - 1) * (chunk.forward + chunk.backward()),
            static_cast<double>(shape.micro_batches), true};
  }

 private:
  void check_rules(const PipelineShape& shape) const override { require_chunks(name(), shape, 1); }
};

}  // namespace

const PipelineSchedule& gpipe_schedule() {
  static const GPipe schedule;
  return schedule;
}

}  // namespace orrery
