#include "orrery/training/iteration_events.h"

#include <algorithm>

#include "orrery/training/job_schedule.h"

namespace orrery {
namespace {

using C = TrainingConstant;

// Communication c beside computation costs reduce_exposed * c (beside() of iteration.cc): it slows
// computation by 1 / (1 - reduce_exposed) for as long.
constexpr double kMostExposed = 0.95;

}  // namespace

PipelineQuestion pipeline_question(const IterationParts& parts, const TrainingConstants& k,
                                   const TrainingJob& job) {
  PipelineQuestion q;
  q.shape = shape_of(job);
  const Seconds held = k[C::kSend] * (job.plan.pp > 1 ? parts.send : Seconds(0));
  for (const int kind : parts.kind) {
    const ChunkParts& of_kind = parts.kinds[static_cast<std::size_t>(kind)];
    ChunkTimes c = scheduled(parts, k, chunk_time(parts, of_kind, k, job, true));
    c.forward += held;
    c.backward_input += held;
    if (job.plan.tp_overlap) {
      c.forward_tensor = k[C::kTensor] * of_kind.piped[at(TrainingPass::kForward)];
      for (const TrainingPass pass :
           {TrainingPass::kRecompute, TrainingPass::kBackwardInput, TrainingPass::kBackwardWeight})
        c.backward_tensor += k[C::kTensor] * of_kind.piped[at(pass)];
    }
    const auto context = [&](TrainingPass pass) {
      return k[C::kContext] * of_kind.time[at(TrainingCost::kContext)][at(pass)];
    };
    c.forward_context = context(TrainingPass::kForward);
    c.backward_context = context(TrainingPass::kRecompute) + context(TrainingPass::kBackwardInput);
    c.offload = of_kind.offload;
    q.chunks.push_back(c);
  }
  for (int s = 0; s < job.plan.pp; ++s) {
    const std::vector<int> chunks = chunks_of_stage(job, s);
    const double share = 1.0 / static_cast<double>(chunks.size());
    const StageParts& stage = parts.stages[static_cast<std::size_t>(s)];
    for (const int c : chunks) {
      ChunkTimes& t = q.chunks[static_cast<std::size_t>(c)];
      const auto left = [&](Seconds communication, Seconds window) {
        return exposed(share * communication, window, job.plan.dp_overlap, k[C::kReduceExposed]);
      };
      t.parameter_gather = left(stage.gather, t.forward);
      t.gradient_reduce = left(stage.reduce, t.backward());
      t.gradient_offload = exposed(share * stage.to_host, t.backward(), job.plan.dp_overlap, 0);
    }
  }
  q.overlap_slowdown = 1 / (1 - std::min(k[C::kReduceExposed], kMostExposed));
  q.send = job.plan.pp > 1 ? parts.send : Seconds(0);
  q.overlap_gather = q.overlap_reduce = job.plan.dp_overlap;
  return q;
}

IterationEvents iteration_events(const IterationParts& parts, const TrainingConstants& k,
                                 const TrainingJob& job, bool with_events) {
  IterationEvents out;
  out.pipeline = run_pipeline(schedule_of(job.plan), pipeline_question(parts, k, job), with_events);
  Seconds optimizer;
  for (const StageParts& s : parts.stages)
    optimizer =
        std::max(optimizer, k[C::kOptimizer] * s.optimizer + host_step(s, true) + s.broadcast);
  const ChunkParts& first = parts.kinds[static_cast<std::size_t>(parts.kind[0])];
  out.total = out.pipeline.total + optimizer + Seconds(1e-3 * k[C::kHost]);
  if (job.plan.zero == 3) out.total += first.gather / std::max(1, first.layers);
  return out;
}

}  // namespace orrery
