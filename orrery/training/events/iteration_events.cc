#include "orrery/training/events/iteration_events.h"

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

using C = TrainingConstant;

}  // namespace

PipelineQuestion pipeline_question(const IterationParts& parts, const TrainingConstants& k,
                                   const TrainingJob& job) {
  PipelineQuestion q;
  q.shape = shape_of(job);
  const Seconds held = k[C::kSend] * (job.plan.pp > 1 ? parts.send : Seconds(0));
  const bool shared = shares_ports(parts);
  const ChunkSetting setting{parts, k, job, Fidelity::kEvents};
  for (const int kind : parts.kind) {
    const ChunkParts& of_kind = parts.kinds[index(kind)];
    const ChunkTime alone = chunk_time(setting, of_kind);
    ScheduledChunk c = scheduled(setting, alone);
    c.forward += held;
    c.backward_input += held;
    if (shared) {
      ScheduledChunk twice = scheduled(setting, contended_time(setting, of_kind, alone));
      twice.forward += held, twice.backward_input += held;
      q.contended.push_back(twice);
    }
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
  const double scheduled = data_shares(k, job.plan).scheduled;
  for (int s = 0; s < job.plan.pp; ++s) {
    const std::vector<int> chunks = chunks_of_stage(job, s);
    const auto count = static_cast<int>(chunks.size());
    const double share = 1.0 / count;
    const StageParts& stage = parts.stages[index(s)];
    for (const int c : chunks) {
      ScheduledChunk& t = q.chunks[index(c)];
      t.parameter_gather = share * scheduled * stage.gather;
      t.gradient_reduce = share * scheduled * stage.reduce;
      t.gather_on_port = share * scheduled * stage.gather_on_port;
      t.reduce_on_port = share * scheduled * stage.reduce_on_port;
      t.gradient_offload = share * stage.to_host;
      if (in_buckets(schedule_of(job.plan), c)) t.pieces = (stage.buckets + count - 1) / count;
    }
  }
  q.overlap_slowdown = parts.data_slowdown;
  q.send = job.plan.pp > 1 ? parts.send : Seconds(0);
  q.send_on_port = job.plan.pp > 1 ? parts.send_on_port : Seconds(0);
  q.overlap_gather = q.overlap_reduce = job.plan.dp_overlap;
  return q;
}

IterationEvents iteration_events(const IterationParts& parts, const TrainingConstants& k,
                                 const TrainingJob& job, bool with_events) {
  IterationEvents out;
  out.pipeline = run_pipeline(schedule_of(job.plan), pipeline_question(parts, k, job), with_events);
  Seconds optimizer, reduce, gather, late_reduce;  // the largest of all stages
  for (const StageParts& s : parts.stages) {
    optimizer = std::max(optimizer, k[C::kOptimizer] * s.optimizer +
                                        host_step(s, Fidelity::kEvents) + late_gather_time(s, k));
    late_reduce = std::max(late_reduce, s.late_reduce);
    reduce = std::max(reduce, s.reduce), gather = std::max(gather, s.gather);
  }
  const Seconds blocked = data_shares(k, job.plan).blocking * (reduce + gather);
  out.total = out.pipeline.total + blocked + late_reduce + optimizer + k.host_time() +
              iteration_time(parts, k, job).stragglers;
  return out;
}

IterationTime in_total(IterationTime t, Seconds total) {
  const Seconds busy = t.total - t.bubble;
  if (total < busy) t = scaled(t, total / busy);
  constexpr double kRounding = 1e-9;
  const Seconds idle = total - busy;
  t.bubble = idle > kRounding * total ? idle : Seconds(0);
  t.total = total;
  return t;
}

}  // namespace orrery
