// Pipeline schedules: in which order a stage runs the passes of its micro-batches.
//
// The model is cut into virtual stages 0 .. stages * chunks - 1, in model order. A stage (one rank
// of the pipeline group) holds `chunks` of them; where, is the schedule's placement. An order is
// static: it does not depend on times. When the passes run, orrery/training/events/pipeline.h tells.
//
// Adding one: a file that implements PipelineSchedule, and a line in schedules.cc.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

enum class Pass {
  kForward,
  kBackward,        // gradients of input and weights in one; what is sent back is sent at its end
  kBackwardInput,   // of the input alone
  kBackwardWeight,  // of the weights alone, any time after the input's
};
std::string_view to_text(Pass pass);  // F, B, I, W

struct PipelineTask {
  Pass pass = Pass::kForward;
  int micro_batch = 0;
  int chunk = 0;        // of the stage: 0 .. chunks * copies() - 1
  bool paired = false;  // run at once with the next task of the order (a forward and a kBackward)
};

struct PipelineShape {
  int stages = 1;         // pp
  int chunks = 1;         // virtual stages a stage holds, vp
  int micro_batches = 1;  // of one iteration of one pipeline

  int virtual_stages() const { return stages * chunks; }
};

// One micro-batch through one chunk. Blocking communication (tensor parallel, expert exchange) is
// included in the passes.
struct ChunkTimes {
  Seconds forward, backward_input, backward_weight;
  // On the data stream, once an iteration: before the chunk's first forward, after its last
  // gradient of weights. 0: none.
  Seconds parameter_gather, gradient_reduce;
  // On the host stream, once an iteration: reduced gradients to an optimizer on the host.
  Seconds gradient_offload;
  // Equal pieces (buckets) that these travel in, the weights in the order of the first forward, the
  // gradients in that of the last pass that makes them: a piece of either pass waits for its piece
  // of the weights, or makes its piece of the gradients. One piece: before the pass, after it. A
  // pair of passes waits for all pieces before, and sends them after it.
  int pieces = 1;
  // Of experts, within the forward and within both backward passes: their exchange of tokens, half
  // of it to them and half back, and their computation. Pairs hide the exchange (pair_time);
  // otherwise both change nothing. exchange_slowdown: of computation beside it, >= 1.
  Seconds forward_exchange, backward_exchange;
  Seconds forward_experts, backward_experts;
  double exchange_slowdown = 1;
  // Communication that runs beside the products, or the attention, of a pass, tensor- and
  // context-parallel: for the timeline alone.
  Seconds forward_tensor, backward_tensor;
  Seconds forward_context, backward_context;
  // Sharded weights on their way beside a pass, and the gradients of such: the same.
  Seconds forward_sharded, backward_sharded;
  // Saved tensors on their way to the host beside a forward, and back beside a backward: the same.
  Seconds offload;
  // What communication between nodes needs of the rank's port (stage_streams.h): that of the
  // passes, whether or not anything hides it, and of parameter_gather and gradient_reduce.
  Seconds forward_on_port, backward_input_on_port, backward_weight_on_port;
  Seconds gather_on_port, reduce_on_port;
  // Saved activations of one micro-batch, in any unit; peaks are sums of it.
  double activation = 1;

  Seconds backward() const { return backward_input + backward_weight; }
};

// Computation and communication that start at once, each on its stream: computation is slower by
// `slowdown` while communication runs, and communication goes at `rate` while computation runs
// (below 1 where what counts as computation sends over the same port: shared_port.h).
inline Seconds side_by_side(Seconds compute, Seconds communication, double slowdown,
                            double rate = 1) {
  return std::max(communication + (1 - rate) * slowdown * compute,
                  compute + (1 - 1 / slowdown) / rate * communication);
}

// The forward of one chunk and the whole backward of another, run as a pair on two streams: layer
// by layer as DeepSeek-V3's report lays them out (figure 4), which Megatron's combined 1F1B
// follows,
//   compute    attention F    experts B     experts F     attention B
//   exchange   combine B      dispatch F    dispatch B    combine F
// (backwards come the other way round: what a combine brought, its gradient sends). Attention
// stands for all of a pass that is neither experts nor exchange.
struct PairSlots {
  std::array<Seconds, 4> compute, exchange, length;
  Seconds total() const { return length[0] + length[1] + length[2] + length[3]; }
};
inline PairSlots pair_slots(const ChunkTimes& f, const ChunkTimes& b) {
  PairSlots s;
  s.compute = {f.forward - f.forward_experts - f.forward_exchange, b.backward_experts,
               f.forward_experts, b.backward() - b.backward_experts - b.backward_exchange};
  s.exchange = {b.backward_exchange / 2, f.forward_exchange / 2, b.backward_exchange / 2,
                f.forward_exchange / 2};
  for (std::size_t i = 0; i < s.length.size(); ++i)
    s.length[i] = side_by_side(s.compute[i], s.exchange[i], f.exchange_slowdown);
  return s;
}
inline Seconds pair_time(const ChunkTimes& forward, const ChunkTimes& backward) {
  return pair_slots(forward, backward).total();
}

// What a schedule's closed form tells of equal chunks and free sends.
struct PipelineForm {
  Seconds total;                // an iteration, as PipelineResult::total
  double peak_activations = 0;  // of the stage that has most, in chunk-activations
  bool exact = true;            // false: outside of the range in which it is the event level's
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;

  virtual std::string_view name() const = 0;
  // InputError where a count is below 1; Infeasible naming the rule that the shape breaks.
  void check(const PipelineShape& shape) const;
  // Models that one pipeline holds: DualPipe has two, micro-batches 0 .. m/2 - 1 run on the first.
  virtual int copies() const { return 1; }
  // The least `chunks` that the schedule takes: 2 for interleaved and V-shaped ones.
  virtual int least_chunks() const { return 1; }
  // True where the optimizer step does not wait for other stages (Qi et al. 2023, section 4: the
  // step is validated afterwards), so that stages begin and end an iteration at staggered times.
  virtual bool staggered() const { return false; }
  // True where the gradients of weights come last, in passes of their own.
  virtual bool splits_backward() const { return false; }
  // The virtual stage that `stage` holds as its chunk number `chunk` < chunks * copies().
  virtual int virtual_stage(int stage, int chunk, const PipelineShape& shape) const;
  // Adds the tasks of one stage. REQUIRES check(shape), 0 <= stage < stages.
  virtual void order(int stage, const PipelineShape& shape,
                     std::vector<PipelineTask>& tasks) const = 0;
  // REQUIRES check(shape).
  virtual PipelineForm closed_form(const PipelineShape& shape, const ChunkTimes& chunk) const = 0;

  // The stage that holds a virtual stage (of the first copy).
  int stage_of(int virtual_stage, const PipelineShape& shape) const;

 private:
  virtual void check_rules(const PipelineShape& shape) const = 0;  // counts are at least 1
};

// Infeasible where the shape has another number of chunks a stage.
void require_chunks(std::string_view schedule, const PipelineShape& shape, int chunks);

// In the order in which users are shown them: gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v,
// dualpipe, dualpipe-v, combined.
struct PipelineScheduleKind {
  std::string_view name, doc;
  const PipelineSchedule& (*get)();
};
const std::vector<PipelineScheduleKind>& pipeline_schedule_kinds();
// InputError naming the nearest.
const PipelineSchedule& pipeline_schedule(std::string_view name);

const PipelineSchedule& gpipe_schedule();
const PipelineSchedule& one_f_one_b_schedule();
const PipelineSchedule& interleaved_schedule();
const PipelineSchedule& zero_bubble_h1_schedule();
const PipelineSchedule& zero_bubble_h2_schedule();
const PipelineSchedule& zero_bubble_v_schedule();
const PipelineSchedule& dual_pipe_schedule();
const PipelineSchedule& dual_pipe_v_schedule();
const PipelineSchedule& combined_schedule();

}  // namespace orrery
