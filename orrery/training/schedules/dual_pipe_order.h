// The order that DualPipe and DualPipeV share (DeepSeek-AI 2024, technical report of DeepSeek-V3,
// section 3.2.1, and the published code of deepseek-ai/DualPipe).
//
// A stage has two flows of micro-batches. In DualPipe, flow 0 enters at the end of the pipeline
// that is nearer to the stage. In DualPipeV, flow 0 is the first chunk, and flow 1 is the same
// micro-batches in the second chunk. The order of a stage at distance d from its end, with `half`
// stages to the middle, is:
//
//   1. 2(half - d - 1) forwards of flow 0
//   2. d + 1 times: a forward of each flow
//   3. half - d - 1 times: input gradients of flow 1, their weight gradients, a forward of flow 1
//   4. in pairs until the forwards of flow 0 end: forward of flow 0 with backward of flow 1,
//      forward of flow 1 with backward of flow 0. In the middle (d = half - 1) the first pair runs
//      one pass after the other, to send sooner.
//   5. half - d - 1 times: backward of flow 1, then forward of flow 1 with backward of flow 0
//   6. d + 1 times: a backward of each flow; in the second half of these, only input gradients
//   7. half - d - 1 times: weight gradients, then input gradients of flow 0
//   8. the remaining weight gradients, in the order of their input gradients
#pragma once

#include <array>
#include <vector>

#include "orrery/training/schedules/schedule.h"

namespace orrery {

struct DualPipeFlow {
  int chunk = 0;
  int first_micro_batch = 0;
};

// Adds the tasks of a stage at `distance` from its end. `per_flow` is the number of micro-batches
// of each flow. REQUIRES 0 <= distance < half, per_flow >= 2 * half.
void dual_pipe_order(int distance, int half, int per_flow, std::array<DualPipeFlow, 2> flows,
                     std::vector<PipelineTask>& tasks);

// The closed form for equal chunks. With n micro-batches of each flow, F the forward, B the input
// gradients, W the weight gradients, and P the time of a pair (F + B + W if it hides nothing):
//
//   2 n (F + B + W) + bubble - (2n - half - 2)(F + B + W - P)
//   bubble = max((half - 1)(2F + max(B - W, 0)), (half - 2)F + (half - 1)(B + max(B - W, 0)))
//
// It is exact if a pair is at least as long as a whole backward. For F = B >= W the stages in the
// middle idle (half - 1)(P + (B + W) - 3W), which is the formula of the report. Other stages run
// fewer pairs and idle for another time.
PipelineForm dual_pipe_form(int half, int per_flow, const ScheduledChunk& chunk);

}  // namespace orrery
