// DualPipe (DeepSeek-AI 2024): two copies of the model on the same stages, the second in reverse,
// each with half of the micro-batches. The order is documented in dual_pipe_order.h.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/training/schedules/dual_pipe_order.h"

namespace orrery {
namespace {

class DualPipe : public PipelineSchedule {
 public:
  DualPipe() : PipelineSchedule("dualpipe") {}

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int p = shape.stages, half_of_them = shape.micro_batches / 2;
    const DualPipeFlow first{0, 0}, second{1, half_of_them};
    if (stage < p / 2) {
      dual_pipe_order(stage, p / 2, half_of_them, {first, second}, tasks);
    } else {
      dual_pipe_order(p - 1 - stage, p / 2, half_of_them, {second, first}, tasks);
    }
  }

  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& chunk) const override {
    return dual_pipe_form(shape.stages / 2, shape.micro_batches / 2, chunk);
  }

 private:
  void check_rules(const PipelineShape& shape) const override {
    require_chunks(name(), shape, 1);
    if (shape.stages % 2 != 0) {
      throw Infeasible(
          fmt::format("pipeline schedule dualpipe needs an even number of stages, "
                      "not {}",
                      shape.stages));
    }
    if (shape.micro_batches % 2 != 0 || shape.micro_batches < 2 * shape.stages) {
      throw Infeasible(
          fmt::format("pipeline schedule dualpipe needs an even number of "
                      "micro-batches, at least twice the stages ({}), not {}",
                      2 * shape.stages, shape.micro_batches));
    }
  }
};

}  // namespace

const PipelineSchedule& dual_pipe_schedule() {
  static const DualPipe schedule;
  return schedule;
}

}  // namespace orrery
