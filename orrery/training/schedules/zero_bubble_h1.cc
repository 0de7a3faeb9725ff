// ZB-H1 (Qi et al. 2023, figure 3): 1F1B whose weight gradients have passes of their own.
// Stage i runs them i micro-batches late, so that every stage has p micro-batches alive, as the
// first stage of 1F1B.
#include <algorithm>

#include "orrery/training/schedules/deferred_weight_gradients.h"

namespace orrery {
namespace {

class ZeroBubbleH1 : public PipelineSchedule {
 public:
  ZeroBubbleH1() : PipelineSchedule("zb-h1") {}
  bool splits_backward() const override { return true; }

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int m = shape.micro_batches;
    deferred_weight_gradient_order(std::min(m, shape.stages - 1 - stage), stage, m, tasks);
  }

  // The bubble equals (p - 1)(F + B - W), the formula of Qi et al., if F >= W, B >= W and m >= p. A
  // stage idles at least until the first gradient comes back.
  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& c) const override {
    const int p = shape.stages, m = shape.micro_batches, full = std::min(m, p);
    const Seconds round = c.forward + c.backward_input;
    const Seconds bubble =
        (full - 1) * std::max({c.forward, c.backward_input, round - c.backward_weight}) +
        (p - full) * round;
    return {m * (c.forward + c.backward()) + bubble, static_cast<double>(full), true};
  }

 private:
  void check_rules(const PipelineShape& shape) const override { require_chunks(name(), shape, 1); }
};

}  // namespace

const PipelineSchedule& zero_bubble_h1_schedule() {
  static const ZeroBubbleH1 schedule;
  return schedule;
}

}  // namespace orrery
