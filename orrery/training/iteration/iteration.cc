#include "orrery/training/iteration/iteration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/base/index.h"
#include "orrery/training/overlap/data_overlap.h"
#include "orrery/training/overlap/shared_port.h"
#include "orrery/training/overlap/slowest_rank.h"
#include "orrery/training/overlap/stream_overlap.h"
#include "orrery/training/schedules/job_schedule.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

using C = TrainingConstant;
using Work = TrainingPass;

const ChunkTime& of_chunk(const IterationParts& parts, const std::vector<ChunkTime>& kinds,
                          int virtual_stage) {
  return kinds[index(parts.kind[index(virtual_stage)])];
}

// An iteration whose stages are all as slow as the slowest, by the schedule's closed form.
struct EqualStages {
  Seconds idle;    // idle time of a stage if pairs hid nothing
  Seconds hidden;  // exchange of experts that pairs hide
};
EqualStages equal_stages(const ChunkSetting& s, const std::vector<ChunkTime>& chunks,
                         Seconds stage) {
  ScheduledChunk mean;
  for (const ChunkTime& t : chunks) {
    const double share = 1.0 / static_cast<double>(chunks.size());
    const ScheduledChunk c = scheduled(s, t);
    mean.forward += share * c.forward;
    mean.backward_input += share * c.backward_input;
    mean.backward_weight += share * c.backward_weight;
    mean.forward_exchange += share * c.forward_exchange;
    mean.backward_exchange += share * c.backward_exchange;
    mean.forward_experts += share * c.forward_experts;
    mean.backward_experts += share * c.backward_experts;
    mean.exchange_slowdown = c.exchange_slowdown;
  }
  const PipelineSchedule& schedule = schedule_of(s.job.plan);
  const PipelineShape shape = shape_of(s.job);
  const Seconds paired = schedule.closed_form(shape, mean).total;
  Seconds alone = paired;
  if (mean.forward_exchange + mean.backward_exchange > Seconds(0)) {
    mean.forward_exchange = mean.backward_exchange = Seconds(0);
    alone = schedule.closed_form(shape, mean).total;
  }
  return {alone - static_cast<double>(s.job.micro_batches()) * stage, alone - paired};
}

}  // namespace

Seconds host_step(const StageParts& stage, Fidelity fidelity) {
  const PipedPair pair{stage.host_step, stage.from_host, stage.host_pieces, 1};
  return fidelity == Fidelity::kEvents ? run_piped(pair).total : piped_time(pair);
}

DataShares data_shares(const TrainingConstants& k, const TrainingPlan& plan) {
  if (!plan.dp_overlap) return {1, 0};
  return {1 - k[C::kDataBlocking], k[C::kDataBlocking]};
}

Seconds late_gather_time(const StageParts& stage, const TrainingConstants& k) {
  const Seconds launches = k.launch_time(stage.copies);
  return launches + std::max(stage.late_gather, launches);
}

bool in_buckets(const PipelineSchedule& schedule, int virtual_stage) {
  return virtual_stage == 0 || schedule.staggered();
}

namespace {

// The exposed time of gradients, updated weights and copies of gradients to an optimizer on the
// host: the part that no stage's computation hides.
struct StagesExposed {
  Seconds reduce, gather, to_host;
  // Time by which the last sends of the stages take longer, because gradients share their port.
  Seconds last_sends;
};
StagesExposed stages_exposed(const ChunkSetting& setting, const std::vector<ChunkTime>& kinds,
                             const std::vector<ChunkTime>& contended) {
  const auto& [parts, k, job, fidelity] = setting;
  const TrainingPlan& p = job.plan;
  const PipelineSchedule& schedule = schedule_of(p);
  // True: each stage begins its first forward after the stage before it, and ends its last backward
  // before the stage before it.
  const bool in_turn =
      !schedule.staggered() && !schedule.splits_backward() && schedule.copies() == 1;
  const Seconds send = p.pp > 1 ? parts.send : Seconds(0), held = k[C::kSend] * send;
  StagesExposed out, blocked;
  // Time by which the stage begins later, and ends earlier, than the first stage.
  Seconds later, earlier;
  Seconds copied;  // exposed time of reductions plus copies
  const PipelineShape shape = shape_of(job);
  for (int s = 0; s < p.pp; ++s) {
    const StageParts& stage = parts.stages[index(s)];
    const int chunk = schedule.virtual_stage(s, 0, shape);  // first to run forward, last backward
    const ChunkTime& t = of_chunk(parts, kinds, chunk);
    const Seconds forward = t.forward + held;
    const Seconds backward = schedule.splits_backward()
                                 ? t.backward_weight
                                 : t.backward_input + t.backward_weight + held;
    DataStream d;
    d.chunks = shape.chunks * schedule.copies();
    if (in_buckets(schedule, chunk)) d.pieces = (stage.buckets + d.chunks - 1) / d.chunks;
    const DataShares share = data_shares(k, p);
    blocked.reduce = std::max(blocked.reduce, share.blocking * stage.reduce);
    blocked.gather = std::max(blocked.gather, share.blocking * stage.gather);
    const auto left = [&](Seconds communication, Seconds port, Seconds to_host, PortUse pass) {
      d.communication = share.scheduled * communication, d.to_host = to_host;
      d.pass = pass.alone, d.spacing = in_turn ? p.pp * (pass.alone + send) : pass.alone;
      const PortSharing both =
          sharing(pass, d.communication, share.scheduled * port, parts.data_slowdown);
      d.slowdown = both.slowdown, d.rate = both.rate;
      return p.dp_overlap ? exposed(d) : DataExposed{d.communication, d.to_host};
    };
    PortUse back_use{backward, {}, {}}, forth_use{forward, {}, {}};
    if (!contended.empty()) {
      const ChunkTime& twice = of_chunk(parts, contended, chunk);
      forth_use = {forward, t.forward_on_port, twice.forward - t.forward};
      back_use.on_port = t.backward_weight_on_port;
      back_use.contended = twice.backward_weight - t.backward_weight;
      if (!schedule.splits_backward()) {
        back_use.on_port += t.backward_input_on_port;
        back_use.contended += twice.backward_input - t.backward_input;
      }
    }
    const DataExposed back = left(stage.reduce, stage.reduce_on_port, stage.to_host, back_use);
    if (in_turn && s > 0)
      out.last_sends += std::min(parts.send_on_port, share.scheduled * stage.reduce_on_port);
    out.reduce = std::max(out.reduce, back.communication - earlier);
    copied = std::max(copied, back.communication + back.to_host - earlier);
    out.gather = std::max(
        out.gather,
        left(stage.gather, stage.gather_on_port, Seconds(0), forth_use).communication - later);
    if (!in_turn) continue;
    later += forward + send;
    earlier += backward + send;
  }
  out.to_host = std::max(Seconds(0), copied - out.reduce);
  out.reduce += blocked.reduce, out.gather += blocked.gather;
  return out;
}

}  // namespace

IterationTime scaled(IterationTime t, double factor) {
  for (Seconds* part : {&t.total, &t.launches, &t.sharding, &t.bubble, &t.sends, &t.reduce,
                        &t.gather, &t.optimizer, &t.host, &t.stragglers})
    *part *= factor;
  for (Seconds& part : t.work) part *= factor;
  return t;
}

namespace {

std::vector<ChunkTime> chunk_times(const ChunkSetting& s) {
  std::vector<ChunkTime> kinds;
  kinds.reserve(s.iteration.kinds.size());
  for (const ChunkParts& kind : s.iteration.kinds) kinds.push_back(chunk_time(s, kind));
  return kinds;
}

// Copies of the model in a pipeline. Schedules with two of them run half of the micro-batches on
// each.
double copies_of(const TrainingPlan& plan) { return plan.pp > 1 ? schedule_of(plan).copies() : 1; }

// The pipeline stage with the most work. Times are of one micro-batch.
struct SlowestStage {
  std::vector<int> chunks;  // its virtual stages
  Seconds time;
  Seconds all;  // the sum over all stages
};
SlowestStage slowest_stage(const ChunkSetting& s, const std::vector<ChunkTime>& kinds) {
  const double copies = copies_of(s.job.plan);
  SlowestStage slowest;
  for (int stage = 0; stage < s.job.plan.pp; ++stage) {
    Seconds time;
    std::vector<int> chunks = chunks_of_stage(s.job, stage);
    for (const int c : chunks) time += of_chunk(s.iteration, kinds, c).total() / copies;
    slowest.all += time;
    if (slowest.chunks.empty() || time > slowest.time)
      slowest.time = time, slowest.chunks = std::move(chunks);
  }
  return slowest;
}

// Adds the passes of all micro-batches on a stage with these virtual stages.
void add_passes(const ChunkSetting& s, const std::vector<ChunkTime>& kinds,
                const std::vector<int>& chunks, IterationTime& out) {
  const double runs = static_cast<double>(s.job.micro_batches()) / copies_of(s.job.plan);
  Seconds forward, backward;
  for (const int c : chunks) {
    const ChunkParts& parts = s.iteration.of_chunk(c);
    for (std::size_t cost = 0; cost < kTrainingCosts; ++cost) {
      for (std::size_t pass = 0; pass < kTrainingPasses; ++pass)
        out.work[cost] += runs * cost_time(s, parts, static_cast<TrainingCost>(cost),
                                           static_cast<TrainingPass>(pass));
    }
    const ChunkTime& t = of_chunk(s.iteration, kinds, c);
    out.launches += runs * t.launch_bound;
    out.sharding += runs * (t.forward_exposed + t.backward_exposed);
    forward += t.forward;
    backward += t.backward_input + t.backward_weight;
  }
  if (forward + backward > Seconds(0)) out.forward = forward / (forward + backward);
}

// Adds the idle time of the pipeline and its sends, and subtracts the exchange of experts that
// pairs of micro-batches hide.
void add_pipeline(const ChunkSetting& s, const std::vector<ChunkTime>& kinds,
                  const SlowestStage& slowest, IterationTime& out) {
  const TrainingPlan& p = s.job.plan;
  if (p.pp > 1 || p.ep_overlap) {
    std::vector<ChunkTime> stage;
    for (const int c : slowest.chunks) stage.push_back(of_chunk(s.iteration, kinds, c));
    const auto [idle, hidden] = equal_stages(s, stage, slowest.time);
    const double uneven = p.pp > 1 ? (slowest.all - slowest.time) / ((p.pp - 1) * slowest.time) : 0;
    constexpr double kRounding = 1e-9;
    if (idle > kRounding * slowest.time) out.bubble = s.constants[C::kPipeline] * uneven * idle;
    Seconds& exchange = out.work[at(TrainingCost::kExpertExchange)];
    exchange = std::max(Seconds(0), exchange - hidden);
  }
  // Every micro-batch is sent forward and back by each stage. The sends of the first and the last
  // micro-batches also fill and drain the pipeline.
  const double m = static_cast<double>(s.job.micro_batches());
  if (p.pp > 1) out.sends = 2 * (s.constants[C::kSend] * m * p.vp + (p.pp - 1)) * s.iteration.send;
}

// The times of chunks whose passes share a port with weights and gradients that travel between
// nodes; empty if none does.
std::vector<ChunkTime> contended_times(const ChunkSetting& s, const std::vector<ChunkTime>& kinds) {
  Seconds once;
  for (const StageParts& stage : s.iteration.stages)
    once += stage.reduce_on_port + stage.gather_on_port;
  Seconds of_passes;
  for (const ChunkTime& t : kinds)
    of_passes += t.forward_on_port + t.backward_input_on_port + t.backward_weight_on_port;
  std::vector<ChunkTime> contended;
  if (!s.job.plan.dp_overlap || once <= Seconds(0) || of_passes <= Seconds(0)) return contended;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    contended.push_back(contended_time(s, s.iteration.kinds[i], kinds[i]));
  return contended;
}

// Adds the update of the weights, once an iteration: gradients, the optimizer, updated weights.
void add_update(const ChunkSetting& s, const std::vector<ChunkTime>& kinds, IterationTime& out) {
  const TrainingConstants& k = s.constants;
  Seconds late_reduce, late_gather, optimizer, on_host;
  for (const StageParts& stage : s.iteration.stages) {
    late_reduce = std::max(late_reduce, stage.late_reduce);
    late_gather = std::max(late_gather, late_gather_time(stage, k));
    optimizer = std::max(optimizer, stage.optimizer);
    on_host = std::max(on_host, host_step(stage, Fidelity::kClosedForm));
  }
  const StagesExposed left = stages_exposed(s, kinds, contended_times(s, kinds));
  out.sends += left.last_sends;
  out.reduce = left.reduce + late_reduce;
  out.gather = left.gather + late_gather;
  out.optimizer = k[C::kOptimizer] * optimizer + on_host + left.to_host;
}

}  // namespace

std::vector<int> slowest_chunks(const IterationParts& parts, const TrainingConstants& k,
                                const TrainingJob& job) {
  const ChunkSetting setting{parts, k, job};
  return slowest_stage(setting, chunk_times(setting)).chunks;
}

IterationTime iteration_time(const IterationParts& parts, const TrainingConstants& k,
                             const TrainingJob& job) {
  const ChunkSetting setting{parts, k, job};
  const std::vector<ChunkTime> kinds = chunk_times(setting);
  const SlowestStage slowest = slowest_stage(setting, kinds);
  IterationTime out;
  add_passes(setting, kinds, slowest.chunks, out);
  add_pipeline(setting, kinds, slowest, out);
  add_update(setting, kinds, out);
  out.host = k.host_time();
  Seconds communication;  // of the passes
  for (const TrainingCost c : kCollectiveCosts) communication += out.work[at(c)];
  Seconds passes;
  for (const Seconds s : out.work) passes += s;
  out.stragglers =
      straggler_time(passes - communication + out.launches + out.bubble + out.optimizer,
                     static_cast<double>(job.plan.devices()), k.jitter());
  out.total = passes + out.launches + out.sharding + out.bubble + out.sends + out.reduce +
              out.gather + out.optimizer + out.host + out.stragglers;
  return out;
}

Seconds forward_time(const IterationTime& t) {
  const Seconds passes = t.total - t.reduce - t.gather - t.optimizer - t.host;
  return t.forward * passes + t.host;
}

namespace {

// Relative error of the wait for the slowest rank: machines differ more or less than those of the
// fit.
constexpr double kStragglerError = 1;

// The squared relative error of the iteration that comes from one cost.
double squared_error(const IterationParts& parts, const IterationTime& time, std::size_t cost) {
  const double share = time.work[cost] / time.total;
  return share * share * (std::pow(parts.shared[cost], 2) + std::pow(parts.own[cost], 2));
}

IterationParts with_wires(IterationParts parts, double factor) {
  for (ChunkParts& c : parts.kinds)
    for (Seconds* t : {&c.gather, &c.gather_again, &c.scatter}) *t *= factor;
  for (StageParts& s : parts.stages)
    for (Seconds* t : {&s.reduce, &s.gather, &s.late_reduce, &s.late_gather}) *t *= factor;
  parts.send *= factor;
  return parts;
}

}  // namespace

double network_error(const IterationParts& parts, const IterationTime& time,
                     const TrainingConstants& k, const TrainingJob& job) {
  // The collectives of one network err together.
  double together = 0, squared = 0;
  for (const TrainingCost cost : kCollectiveCosts) {
    const double share = time.work[at(cost)] / time.total;
    together += share * std::expm1(parts.shared[at(cost)]);
    squared += std::pow(share * std::expm1(parts.own[at(cost)]), 2);
  }
  if (const double sigma = std::hypot(parts.wires_shared, parts.wires_own); sigma > 0) {
    const Seconds usual = iteration_time(parts, k, job).total;
    const Seconds slow = iteration_time(with_wires(parts, std::exp(sigma)), k, job).total;
    together += (slow - usual) / time.total;
  }
  return std::hypot(together, std::sqrt(squared));
}

double straggler_error(const IterationTime& time) {
  return kStragglerError * (time.stragglers / time.total);
}

Estimate<Seconds> iteration_estimate(const IterationParts& parts, const IterationTime& time,
                                     const TrainingConstants& k, const TrainingJob& job) {
  double kernels = 0;
  for (std::size_t c = 0; c < kTrainingCosts; ++c)
    if (std::find(kCollectiveCosts.begin(), kCollectiveCosts.end(), static_cast<TrainingCost>(c)) ==
        kCollectiveCosts.end())
      kernels += squared_error(parts, time, c);
  // The error of a fit on rows of other sources includes the error of kernels. Only a larger error
  // of kernels (a GPU without measurements) is added.
  const double beyond = std::sqrt(std::max(0.0, kernels - k.error * k.error / 2));
  const double adapters = job.tuning == Tuning::kFull ? 0 : k.adapters_error;
  const double experts = experts_share(time) > 0 ? k.experts_error : 0;
  const double fitted = std::hypot(k.error, experts, adapters);
  const double shared =
      std::hypot(beyond, network_error(parts, time, k, job), straggler_error(time));
  return {time.total, shared, fitted, std::max(parts.origin, Origin::kFitted)};
}

Flops executed_flops(const IterationParts& parts, const TrainingJob& job) {
  Flops executed;
  for (const int kind : parts.kind) executed += parts.kinds[static_cast<std::size_t>(kind)].flops;
  return executed / job.plan.pp * static_cast<double>(job.micro_batches());
}

double experts_share(const IterationTime& time) {
  return (time.work[at(TrainingCost::kExperts)] + time.work[at(TrainingCost::kExpertExchange)]) /
         time.total;
}

}  // namespace orrery
