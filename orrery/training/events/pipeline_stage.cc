#include "orrery/training/events/pipeline_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/error.h"

namespace orrery::pipeline {
namespace {

Seconds time_of(const ScheduledChunk& t, Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return t.forward;
    case Pass::kBackward:
      return t.backward();
    case Pass::kBackwardInput:
      return t.backward_input;
    case Pass::kBackwardWeight:
      return t.backward_weight;
  }
  return Seconds(0);
}

Seconds port_of(const ScheduledChunk& t, Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return t.forward_on_port;
    case Pass::kBackward:
      return (t.backward_input_on_port + t.backward_weight_on_port);
    case Pass::kBackwardInput:
      return t.backward_input_on_port;
    case Pass::kBackwardWeight:
      return t.backward_weight_on_port;
  }
  return Seconds(0);
}

}  // namespace

// A task that is not paired runs in pieces if its weights arrive, or its gradients leave, in
// pieces.
void load_alone(Stage& stage, const PipelineQuestion& question) {
  const PipelineTask& task = *stage.task;
  Slot& k = *stage.slot;
  stage.gathers = task.pass == Pass::kForward && k.fresh && k.gathers;
  stage.reduces =
      makes_last(task, k, 1) && k.times->gradient_reduce + k.times->gradient_offload > Seconds(0);
  if (task.pass == Pass::kForward) k.fresh = false;
  const bool in_pieces =
      (stage.gathers && question.overlap_gather) || (stage.reduces && question.overlap_reduce);
  stage.pieces = in_pieces ? k.pieces : 1;
  const Seconds time = time_of(*k.times, task.pass);
  stage.load = {.time = time / stage.pieces};
  if (k.contended == nullptr) return;
  stage.load.on_port = port_of(*k.times, task.pass) / stage.pieces;
  stage.load.contended = (time_of(*k.contended, task.pass) - time) / stage.pieces;
}

void load_pair(Stage& stage) {
  const Slot &k = *stage.slot, &o = *stage.other_slot;
  stage.gathers = stage.reduces = false;
  stage.pieces = 1;
  const Seconds time = pair_time(*k.times, *o.times);
  stage.load = {.time = time};
  if (k.contended == nullptr) return;
  stage.load.on_port = port_of(*k.times, stage.task->pass) + port_of(*o.times, stage.other->pass);
  stage.load.contended = pair_time(*k.contended, *o.contended) - time;
}

PipelineResult result_of(const std::vector<Stage>& stages, bool staggered) {
  Seconds makespan, longest, longest_exposed;
  Seconds first(std::numeric_limits<double>::infinity()), last;
  for (const Stage& stage : stages) {
    const Seconds end = std::max({stage.compute_end, stage.data_end, stage.host_free});
    makespan = std::max(makespan, end);
    first = std::min(first, stage.first_start);
    last = std::max(last, stage.compute_end);
    const Seconds span = end - (stage.first_start - stage.first_gather);
    if (span > longest) {
      longest = span;
      longest_exposed = stage.first_gather + (end - stage.compute_end);
    }
  }
  PipelineResult out;
  out.makespan = makespan;
  out.total = staggered ? longest : makespan;
  out.exposed_data = staggered ? longest_exposed : first + (makespan - last);
  const Seconds window = out.total - out.exposed_data;
  out.busy.reserve(stages.size());
  out.peak_activations.reserve(stages.size());
  for (const Stage& stage : stages) {
    out.busy.push_back(stage.busy);
    out.peak_activations.push_back(stage.peak);
    if (window > Seconds(0))
      out.bubble += (1 - (stage.busy + stage.waited) / window) / static_cast<int>(stages.size());
  }
  out.bubble = std::max(out.bubble, 0.0);
  return out;
}

void check_times(const PipelineQuestion& q) {
  const auto good = [](Seconds t) { return std::isfinite(t.value()) && t >= Seconds(0); };
  if (q.chunks.size() != static_cast<std::size_t>(q.shape.virtual_stages())) {
    throw InputError(
        fmt::format("a pipeline of {} stages with {} chunks each needs {} chunks' "
                    "times, not {}",
                    q.shape.stages, q.shape.chunks, q.shape.virtual_stages(), q.chunks.size()));
  }
  for (std::size_t i = 0; i < q.chunks.size(); ++i) {
    const ScheduledChunk& c = q.chunks[i];
    for (Seconds t : {c.forward,
                      c.backward_input,
                      c.backward_weight,
                      c.parameter_gather,
                      c.gradient_reduce,
                      c.gradient_offload,
                      c.offload,
                      c.forward_exchange,
                      c.backward_exchange,
                      c.forward_experts,
                      c.backward_experts,
                      c.forward_tensor,
                      c.backward_tensor,
                      c.forward_context,
                      c.backward_context,
                      c.forward_sharded,
                      c.backward_sharded,
                      c.forward_on_port,
                      c.backward_input_on_port,
                      c.backward_weight_on_port,
                      c.gather_on_port,
                      c.reduce_on_port}) {
      if (!good(t))
        throw InputError(fmt::format("pipeline chunk {}: a time of {} s", i, t.value()));
    }
    constexpr double kRounding = 1 + 1e-9;
    if (c.forward_exchange + c.forward_experts > kRounding * c.forward ||
        c.backward_exchange + c.backward_experts > kRounding * c.backward()) {
      throw InputError(fmt::format("pipeline chunk {}: its exchange is longer than its pass", i));
    }
    if (!(c.exchange_slowdown >= 1) || !std::isfinite(c.exchange_slowdown)) {
      throw InputError(
          fmt::format("pipeline chunk {}: a slowdown by exchange of {}", i, c.exchange_slowdown));
    }
    if (c.pieces < 1) throw InputError(fmt::format("pipeline chunk {}: {} pieces", i, c.pieces));
    if (!(c.activation >= 0) || !std::isfinite(c.activation)) {
      throw InputError(fmt::format("pipeline chunk {}: activations of {}", i, c.activation));
    }
  }
  if (!q.contended.empty() && q.contended.size() != q.chunks.size())
    throw InputError(fmt::format("{} contended chunks of {}", q.contended.size(), q.chunks.size()));
  for (std::size_t i = 0; i < q.contended.size(); ++i) {
    const ScheduledChunk &alone = q.chunks[i], &c = q.contended[i];
    if (c.forward < alone.forward || c.backward_input < alone.backward_input ||
        c.backward_weight < alone.backward_weight || !good(c.forward) || !good(c.backward()))
      throw InputError(fmt::format("pipeline chunk {}: shorter where its port is shared", i));
  }
  if (!good(q.send) || !good(q.send_on_port))
    throw InputError(fmt::format("pipeline send of {} s", q.send.value()));
  if (!(q.overlap_slowdown >= 1) || !std::isfinite(q.overlap_slowdown)) {
    throw InputError(
        fmt::format("overlap slowdown must be at least 1, not {}", q.overlap_slowdown));
  }
}

}  // namespace orrery::pipeline
