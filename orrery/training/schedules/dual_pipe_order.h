// The order that DualPipe and DualPipeV share (DeepSeek-AI 2024, technical report of DeepSeek-V3,
// section 3.2.1, and the published code of deepseek-ai/DualPipe).
//
// A stage has two flows of micro-batches. In DualPipe flow 0 enters at its own, nearer end; in
// DualPipeV flow 0 is the first chunk, and flow 1 the same micro-batches in the second. Seen from
// an end at distance d of `half` stages:
//   1. 2(half - d - 1) forwards of flow 0
//   2. d + 1 times: a forward of each flow
//   3. half - d - 1 times: backward of flow 1, its gradient of weights apart, forward of flow 1
//   4. in pairs: forward 0 with backward 1, forward 1 with backward 0, until flow 0's forwards end
//      (in the middle the first pair is run one after the other, to send sooner)
//   5. half - d - 1 times: backward of flow 1, then forward 1 with backward 0
//   6. d + 1 times: a backward of each flow; from the middle of them on gradients of weights apart
//   7. half - d - 1 times: a gradient of weights, an input gradient of flow 0
//   8. the gradients of weights that are left, in the order of their input gradients
#pragma once

#include <array>
#include <vector>

#include "orrery/training/schedules/schedule.h"

namespace orrery {

struct DualPipeFlow {
  int chunk = 0;
  int first_micro_batch = 0;
};

// REQUIRES 0 <= distance < half, per_flow >= 2 * half: micro-batches of each flow.
void dual_pipe_order(int distance, int half, int per_flow, std::array<DualPipeFlow, 2> flows,
                     std::vector<PipelineTask>& tasks);

// Equal chunks, P the time of a pair, F + B + W if nothing is hidden, B the input's gradient:
//   2 n (F + B + W) + bubble - (2n - half - 2)(F + B + W - P)
//   bubble = max((half - 1)(2F + max(B - W, 0)), (half - 2)F + (half - 1)(B + max(B - W, 0)))
// exact where a pair is at least as long as a whole backward. Where F = B >= W the stages in the
// middle idle (half - 1)(P + (B + W) - 3W), which is the report's formula; others idle otherwise,
// for they run fewer pairs.
PipelineForm dual_pipe_form(int half, int per_flow, const ScheduledChunk& chunk);

}  // namespace orrery
