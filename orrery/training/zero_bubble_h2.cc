// ZB-H2 (Qi et al. 2023, figure 3): stage i runs 2(p - 1 - i) forwards before its first pair of
// forward and backward, and the gradient of weights 2i micro-batches late.
#include <algorithm>

#include "orrery/training/late_weights.h"

namespace orrery {
namespace {

class ZeroBubbleH2 : public PipelineSchedule {
 public:
  std::string_view name() const override { return "zb-h2"; }
  bool staggered() const override { return true; }

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int m = shape.micro_batches;
    late_weights_order(std::min(m, 2 * (shape.stages - 1 - stage)), 2 * stage, m, tasks);
  }

  PipelineForm closed_form(const PipelineShape& shape, const ChunkTimes& c) const override {
    const int p = shape.stages, m = shape.micro_batches;
    const Seconds bubble = c.forward + c.backward_input - 2 * c.backward_weight;
    return {m * (c.forward + c.backward()) + (p - 1) * std::max(bubble, Seconds(0)),
            static_cast<double>(std::min(m, 2 * p - 1))};
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
