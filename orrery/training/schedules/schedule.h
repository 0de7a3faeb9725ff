// Pipeline schedules: the order in which a stage runs the passes of its micro-batches.
//
// The model is cut into virtual stages 0 .. stages * chunks - 1, in the order of the model. A
// pipeline stage (one rank of the pipeline group) holds `chunks` of them; the schedule's placement
// (orrery/workload/plan/pipeline_schedules.h) says which. An order is static: it does not depend on
// times. orrery/training/events/pipeline.h computes when the passes run.
//
// To add a schedule, write a file that implements PipelineSchedule and add an entry to
// orrery/workload/plan/pipeline_schedules.def (docs/pipelines.md, section Adding a schedule).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/plan/pipeline_schedules.h"

namespace orrery {

enum class Pass {
  kForward,
  kBackward,        // gradients of input and weights; the input's gradient is sent when both end
  kBackwardInput,   // gradient of the input only
  kBackwardWeight,  // gradients of the weights only, at any time after kBackwardInput
};
// The letter of a pass: F, B, I, W.
std::string_view to_text(Pass pass);

// One pass of one micro-batch through one chunk of a stage.
struct PipelineTask {
  Pass pass = Pass::kForward;
  int micro_batch = 0;
  int chunk = 0;  // number of the chunk on its stage: 0 .. chunks * copies() - 1
  // The task, a forward, runs as a pair with the next task of the order, a kBackward.
  bool paired = false;
};

// The sizes of a pipeline.
struct PipelineShape {
  int stages = 1;         // pp
  int chunks = 1;         // virtual stages that a stage holds (vp)
  int micro_batches = 1;  // micro-batches of one pipeline in one iteration

  int virtual_stages() const { return stages * chunks; }
};

// Times of one micro-batch in one chunk, as a schedule takes them. Blocking communication (tensor
// parallel, exchange of experts) is included in the times of the passes.
struct ScheduledChunk {
  Seconds forward, backward_input, backward_weight;
  // Communication on the stage's data stream, once an iteration: the gathering of updated weights
  // before the chunk's first forward, the reduction of gradients after its last pass that makes
  // weight gradients. 0: none.
  Seconds parameter_gather, gradient_reduce;
  // Copies of reduced gradients to an optimizer on the host, once an iteration, on the host stream.
  Seconds gradient_offload;
  // Number of equal pieces (buckets) of parameter_gather and gradient_reduce. Weights arrive in the
  // order of the first forward, and each piece of that pass waits for its piece of the weights.
  // Gradients leave in the order of the last pass that makes them, piece by piece. 1: the whole
  // transfer is before or after the pass. A pair of passes waits for all pieces and sends all
  // pieces when it ends.
  int pieces = 1;
  // Parts of the forward, and of both backward passes, that the experts take: their exchange of
  // tokens (half of it to the experts, half of it back) and their computation. Pairs hide the
  // exchange (pair_time); passes that are not paired ignore both.
  Seconds forward_exchange, backward_exchange;
  Seconds forward_experts, backward_experts;
  double exchange_slowdown = 1;  // of computation while an exchange runs, >= 1
  // Tensor- and context-parallel communication that overlaps with the products or the attention of
  // a pass. Used by the timeline only.
  Seconds forward_tensor, backward_tensor;
  Seconds forward_context, backward_context;
  // Gathering of sharded weights and scattering of their gradients in a pass. Used by the timeline
  // only.
  Seconds forward_sharded, backward_sharded;
  // Copies of saved tensors to the host in a forward pass, and back in a backward pass. Used by the
  // timeline only.
  Seconds offload;
  // Time on the rank's port (stage_streams.h) of communication between nodes: of the passes,
  // whether or not computation hides it, and of parameter_gather and gradient_reduce.
  Seconds forward_on_port, backward_input_on_port, backward_weight_on_port;
  Seconds gather_on_port, reduce_on_port;
  // Saved activations of one micro-batch, in any unit. Peaks are sums of it.
  double activation = 1;

  Seconds backward() const { return backward_input + backward_weight; }
};

// Time of computation and communication that start together, each on its own stream. Computation
// takes `slowdown` times as long while communication runs. Communication runs at `rate` while
// computation runs; the rate is below 1 if the computation includes communication over the same
// port (shared_port.h).
inline Seconds side_by_side(Seconds compute, Seconds communication, double slowdown,
                            double rate = 1) {
  return std::max(communication + (1 - rate) * slowdown * compute,
                  compute + (1 - 1 / slowdown) / rate * communication);
}

// The forward of one chunk and the whole backward of another one, run as a pair on two streams.
// A pair has four slots, after figure 4 of the technical report of DeepSeek-V3, which Megatron's
// combined 1F1B follows:
//
//   compute    attention F    experts B     experts F     attention B
//   exchange   combine B      dispatch F    dispatch B    combine F
//
// A backward pass runs in reverse order: the gradient of a combine is a dispatch. "Attention" means
// everything in a pass except experts and exchange.
struct PairSlots {
  std::array<Seconds, 4> compute, exchange, length;
  Seconds total() const { return length[0] + length[1] + length[2] + length[3]; }
};
inline PairSlots pair_slots(const ScheduledChunk& f, const ScheduledChunk& b) {
  PairSlots s;
  s.compute = {f.forward - f.forward_experts - f.forward_exchange, b.backward_experts,
               f.forward_experts, b.backward() - b.backward_experts - b.backward_exchange};
  s.exchange = {b.backward_exchange / 2, f.forward_exchange / 2, b.backward_exchange / 2,
                f.forward_exchange / 2};
  for (std::size_t i = 0; i < s.length.size(); ++i)
    s.length[i] = side_by_side(s.compute[i], s.exchange[i], f.exchange_slowdown);
  return s;
}
inline Seconds pair_time(const ScheduledChunk& forward, const ScheduledChunk& backward) {
  return pair_slots(forward, backward).total();
}

// Result of a schedule's closed form, which assumes equal chunks and sends that take no time.
struct PipelineForm {
  Seconds total;                // time of an iteration, as PipelineResult::total
  double peak_activations = 0;  // largest number of chunk-activations alive on any stage
  bool exact = true;  // false: the shape or the times are outside the range of exact agreement
};

class PipelineSchedule {
 public:
  // `name`: of the entry in pipeline_schedules.def.
  explicit PipelineSchedule(std::string_view name) : kind_(pipeline_schedule_kind(name)) {}
  virtual ~PipelineSchedule() = default;

  std::string_view name() const { return kind_.name; }
  // Throws InputError if a count is below 1, Infeasible with the rule that the shape breaks.
  void check(const PipelineShape& shape) const;
  // Number of copies of the model in one pipeline. DualPipe has two; micro-batches 0 .. m/2 - 1 run
  // on the first copy.
  int copies() const { return model_copies(kind_.traits.placement); }
  // Smallest number of chunks of a stage that the schedule accepts.
  int least_chunks() const { return kind_.traits.least_chunks; }
  // True if the optimizer step does not wait for other stages (Qi et al. 2023, section 4: the step
  // is validated afterwards). Stages then begin and end an iteration at different times.
  virtual bool staggered() const { return false; }
  // True if gradients of weights are computed in passes of their own, after those of the input.
  virtual bool splits_backward() const { return false; }
  // The virtual stage that `stage` holds as its chunk number `chunk` < chunks * copies().
  int virtual_stage(int stage, int chunk, const PipelineShape& shape) const {
    return placed_virtual_stage(kind_.traits.placement, stage, chunk, shape.stages);
  }
  // Adds the tasks of one stage to `tasks`. REQUIRES check(shape), 0 <= stage < stages.
  virtual void order(int stage, const PipelineShape& shape,
                     std::vector<PipelineTask>& tasks) const = 0;
  // REQUIRES check(shape).
  virtual PipelineForm closed_form(const PipelineShape& shape,
                                   const ScheduledChunk& chunk) const = 0;

  // The stage that holds a virtual stage (of the first copy). InputError: no stage holds it.
  int stage_of(int virtual_stage, const PipelineShape& shape) const;

 private:
  // Throws Infeasible if the shape breaks a rule of the schedule. All counts are at least 1.
  virtual void check_rules(const PipelineShape& shape) const = 0;

  const PipelineScheduleKind& kind_;
};

// Throws Infeasible if the shape does not have `chunks` chunks a stage.
void require_chunks(std::string_view schedule, const PipelineShape& shape, int chunks);

// The schedule called `name`. InputError with the nearest name if there is none.
const PipelineSchedule& pipeline_schedule(std::string_view name);

}  // namespace orrery
