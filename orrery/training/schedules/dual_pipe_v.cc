// DualPipeV (Qi et al. 2025, "cut in half"): DualPipe folded in the middle, so that one copy of the
// model is enough: stage i holds the virtual stages i and 2p - 1 - i. The order is documented in
// dual_pipe_order.h.
#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/training/schedules/dual_pipe_order.h"

namespace orrery {
namespace {

class DualPipeV : public PipelineSchedule {
 public:
  DualPipeV() : PipelineSchedule("dualpipe-v") {}

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    dual_pipe_order(stage, shape.stages, shape.micro_batches, {{{0, 0}, {1, 0}}}, tasks);
  }

  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& chunk) const override {
    return dual_pipe_form(shape.stages, shape.micro_batches, chunk);
  }

 private:
  void check_rules(const PipelineShape& shape) const override {
    require_chunks(name(), shape, 2);
    if (shape.micro_batches < 2 * shape.stages) {
      throw Infeasible(
          fmt::format("pipeline schedule dualpipe-v needs at least twice as many "
                      "micro-batches as stages ({}), not {}",
                      2 * shape.stages, shape.micro_batches));
    }
  }
};

}  // namespace

const PipelineSchedule& dual_pipe_v_schedule() {
  static const DualPipeV schedule;
  return schedule;
}

}  // namespace orrery
