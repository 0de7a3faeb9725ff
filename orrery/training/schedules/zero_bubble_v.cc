// ZB-V (Qi et al. 2023, appendix; the order is that of PyTorch's ScheduleZBVZeroBubble): stage i
// holds the virtual stages i and 2p - 1 - i, so that the last chunk's backward begins where the
// first chunk's forward did.
#include <algorithm>

#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

class ZeroBubbleV : public PipelineSchedule {
 public:
  ZeroBubbleV() : PipelineSchedule("zb-v") {}
  bool splits_backward() const override { return true; }
  bool staggered() const override { return true; }

  void order(int stage, const PipelineShape& shape,
             std::vector<PipelineTask>& tasks) const override {
    const int p = shape.stages, m = shape.micro_batches;
    const int padded = std::max(2 * p - 1, m);  // the order for this many, without those above m
    int forward[2] = {0, 0}, input[2] = {0, 0}, weight[2] = {0, 0};
    const auto add = [&](Pass pass, int chunk) {
      int& next = (pass == Pass::kForward         ? forward
                   : pass == Pass::kBackwardInput ? input
                                                  : weight)[chunk];
      if (next < m) tasks.push_back({pass, next, chunk});
      ++next;
    };
    const auto backward = [&](int chunk) {
      add(Pass::kBackwardInput, chunk);
      add(Pass::kBackwardWeight, chunk);
    };
    for (int i = 0; i < 2 * (p - stage) - 1; ++i) add(Pass::kForward, 0);
    for (int i = 0; i < stage; ++i) add(Pass::kForward, 1), add(Pass::kForward, 0);
    for (int i = 0; i < p - stage; ++i) add(Pass::kForward, 1), backward(1);
    while (forward[1] < forward[0] || forward[0] < padded) {
      if (forward[0] < padded) add(Pass::kForward, 0);
      backward(0);
      add(Pass::kForward, 1);
      backward(1);
    }
    for (int i = 0; i < stage; ++i) add(Pass::kBackwardInput, 0), add(Pass::kBackwardInput, 1);
    for (int i = 0; i < p - stage; ++i) backward(0);
    while (weight[1] < input[1]) add(Pass::kBackwardWeight, 1);
    while (weight[0] < input[0]) add(Pass::kBackwardWeight, 0);
  }

  // The bubble is 0 for F = B = W. The form is exact if F <= B, W <= B and m >= 2p - 1.
  PipelineForm closed_form(const PipelineShape& shape, const ScheduledChunk& c) const override {
    const int p = shape.stages, m = shape.micro_batches;
    const Seconds f = c.forward, b = c.backward_input, w = c.backward_weight;
    const Seconds bubble = (p - 1) * std::max({2 * (b - w), b - f, Seconds(0)});
    return {2 * m * (c.forward + c.backward()) + bubble,
            static_cast<double>(std::min(2 * m, 2 * p)), f <= b && w <= b && m >= 2 * p - 1};
  }

 private:
  void check_rules(const PipelineShape& shape) const override { require_chunks(name(), shape, 2); }
};

}  // namespace

const PipelineSchedule& zero_bubble_v_schedule() {
  static const ZeroBubbleV schedule;
  return schedule;
}

}  // namespace orrery
