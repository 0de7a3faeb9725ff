// ZB-H2 (Qi et al. 2023, figure 3): stage i runs 2(p - 1 - i) forwards before its first pair of
// forward and backward, and weight gradients 2i micro-batches late.
#include <algorithm>

#include "orrery/training/schedules/deferred_weight_gradients.h"

namespace orrery {
namespace {

class ZeroBubbleH2 : public PipelineSchedule {
 public:
  ZeroBubbleH2() : PipelineSchedule("zb-h2") {}
  bool splits_backward() const override { return true; }
  bool staggered() const override { return true; }

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int m = shape.micro_batches;
    deferred_weight_gradient_order(std::min(m, 2 * (shape.stages - 1 - stage)), 2 * stage, m,
                                   tasks);
  }

  // For m >= 2p - 1 the bubble is (p - 1) max(F + B - 2W, B - F, 0). It is the formula of Qi et al.
  // if W <= F and W <= (F + B)/2. Each missing micro-batch leaves a gap of one pass of weight
  // gradients, at most as long as the gap that the pass filled.
  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& c) const override {
    const int p = shape.stages, m = shape.micro_batches, filled = std::min(m, 2 * p - 1) - 1;
    const Seconds f = c.forward, b = c.backward_input, w = c.backward_weight;
    const Seconds one = std::min(f, w), two = std::min({2 * w, 2 * f, f + b});
    const Seconds bubble = (p - 1) * (f + b) - (filled + 1) / 2 * one - filled / 2 * (two - one);
    return {m * (c.forward + c.backward()) + bubble, static_cast<double>(filled + 1), true};
  }

 private:
  void check_rules(const PipelineShape& shape) const override { require_chunks(name(), shape, 1); }
};

}  // namespace

const PipelineSchedule& zero_bubble_h2_schedule() {
  static const ZeroBubbleH2 schedule;
  return schedule;
}

}  // namespace orrery
