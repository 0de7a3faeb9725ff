#include "orrery/training/schedules/dual_pipe_order.h"

#include <algorithm>

namespace orrery {

void dual_pipe_order(int distance, int half, int per_flow, std::array<DualPipeFlow, 2> flows,
                     std::vector<PipelineTask>& tasks) {
  std::array<int, 2> forwards{}, backwards{};
  std::vector<PipelineTask> late;  // weight gradients to come, first in, first out
  std::size_t done = 0;
  const auto forward = [&](int flow, bool paired = false) {
    const auto f = static_cast<std::size_t>(flow);
    tasks.push_back(
        {Pass::kForward, flows[f].first_micro_batch + forwards[f]++, flows[f].chunk, paired});
  };
  const auto backward = [&](int flow, bool split = false) {
    const auto f = static_cast<std::size_t>(flow);
    const int micro_batch = flows[f].first_micro_batch + backwards[f]++, chunk = flows[f].chunk;
    tasks.push_back({split ? Pass::kBackwardInput : Pass::kBackward, micro_batch, chunk});
    if (split) late.push_back({Pass::kBackwardWeight, micro_batch, chunk});
  };
  const auto weight = [&] { tasks.push_back(late[done++]); };
  const auto pair = [&](int forward_flow, int backward_flow) {
    forward(forward_flow, true);
    backward(backward_flow);
  };

  const int to_middle = half - distance - 1, crossing = distance + 1;
  for (int i = 0; i < 2 * to_middle; ++i) forward(0);
  for (int i = 0; i < crossing; ++i) forward(0), forward(1);
  for (int i = 0; i < to_middle; ++i) backward(1, true), weight(), forward(1);
  for (int i = 0; i < per_flow - 2 * half + crossing; ++i) {
    if (i == 0 && to_middle == 0) {
      forward(0), backward(1);
    } else {
      pair(0, 1);
    }
    pair(1, 0);
  }
  for (int i = 0; i < to_middle; ++i) backward(1), pair(1, 0);
  bool split = false;
  for (int i = 0; i < crossing; ++i) {
    if (i == crossing / 2 && distance % 2 == 1) split = true;
    backward(1, split);
    if (i == crossing / 2 && distance % 2 == 0) split = true;
    backward(0, split);
  }
  for (int i = 0; i < to_middle; ++i) weight(), backward(0, true);
  while (done < late.size()) weight();
}

PipelineForm dual_pipe_form(int half, int per_flow, const ScheduledChunk& c) {
  const Seconds f = c.forward, b = c.backward_input, w = c.backward_weight;
  const Seconds unpaired = f + c.backward(), rest = std::max(b - w, Seconds(0));
  const Seconds pair = pair_time(c, c);
  const Seconds bubble =
      std::max((half - 1) * (2 * f + rest), (half - 2) * f + (half - 1) * (b + rest));
  const Seconds hidden = (2 * per_flow - half - 2) * (unpaired - pair);
  return {2 * per_flow * unpaired + bubble - hidden, 2.0 * half + 1, pair >= c.backward()};
}

}  // namespace orrery
