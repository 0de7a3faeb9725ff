#include "orrery/training/iteration/chunk_time.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "orrery/training/overlap/context_overlap.h"
#include "orrery/training/overlap/data_overlap.h"
#include "orrery/training/overlap/offload_overlap.h"
#include "orrery/training/overlap/shared_port.h"
#include "orrery/training/overlap/stream_overlap.h"

namespace orrery {
namespace {

using C = TrainingConstant;
using Work = TrainingPass;

// The factor of context-parallel communication in a pass, if the network's time is multiplied by
// `f`: the part of it that the core of attention does not hide, relative to the network's time.
double context_factor(const ChunkSetting& setting, const ChunkParts& parts, TrainingPass pass,
                      double f) {
  const TrainingPlan& plan = setting.job.plan;
  const Seconds all = parts.time[at(TrainingCost::kContext)][at(pass)];
  const Seconds hops = parts.hops[at(pass)];
  if (hops <= Seconds(0)) return f;  // nothing hides gathers and all-to-alls
  ContextPass p;
  p.ranks = plan.ring_ranks(), p.balanced = plan.zigzag;
  p.backward = pass == TrainingPass::kBackwardInput;
  const TrainingCost core =
      p.backward ? TrainingCost::kAttentionBackward : TrainingCost::kAttention;
  p.attention = cost_factor(setting, parts, core, pass) * parts.time[at(core)][at(pass)];
  p.communication = f * hops;
  p.slowdown = setting.iteration.context_slowdown;
  return (f * (all - hops) + context_exposed(p, parts.contexts[at(pass)], setting.fidelity)) / all;
}

// The factor of tensor-parallel communication in a backward pass that runs some of it next to the
// other gradient of the same product, if the network's time is multiplied by `f`. Every second
// product is column-parallel, so these products have half of the time.
double async_factor(const ChunkSetting& setting, const ChunkParts& parts, TrainingPass pass,
                    double f) {
  const bool input = pass == Work::kBackwardInput;
  if (!input && pass != Work::kBackwardWeight) return f;
  const TrainingPass other = input ? Work::kBackwardWeight : Work::kBackwardInput;
  // With sequence parallelism the gradients are gathered first. No computation is ready then.
  const Seconds hidden =
      parts.piped[at(pass)] * (input && setting.job.plan.sequence_parallel ? 0.5 : 1);
  const Seconds products = 0.5 * cost_factor(setting, parts, TrainingCost::kProducts, other) *
                           parts.time[at(TrainingCost::kProducts)][at(other)];
  const Seconds exposed =
      side_by_side(products, f * hidden, setting.iteration.tensor_slowdown) - products;
  const Seconds all = parts.time[at(TrainingCost::kTensor)][at(pass)];
  return (f * (all - hidden) + exposed) / all;
}

}  // namespace

double cost_factor(const ChunkSetting& setting, const ChunkParts& parts, TrainingCost cost,
                   TrainingPass pass) {
  const IterationParts& whole = setting.iteration;
  const TrainingConstants& k = setting.constants;
  const TrainingPlan& plan = setting.job.plan;
  // Constants of costs have the order of the costs. Experts are products, too.
  const double constant =
      k.value[at(cost)] * (cost == TrainingCost::kExperts ? k[C::kProducts] : 1);
  const double f = std::max(constant, parts.of_peak[at(cost)][at(pass)]);
  const Seconds piped = parts.piped[at(pass)], all = parts.time[at(cost)][at(pass)];
  if (cost == TrainingCost::kContext && all > Seconds(0))
    return context_factor(setting, parts, pass, f);
  if (cost != TrainingCost::kTensor || piped <= Seconds(0)) return f;
  if (!plan.tp_overlap) return whole.async_gradients ? async_factor(setting, parts, pass, f) : f;
  const Seconds products =
      cost_factor({whole, k, setting.job}, parts, TrainingCost::kProducts, pass) *
      parts.time[at(TrainingCost::kProducts)][at(pass)];
  const PipedLayers layers{.products = products,
                           .communication = f * piped,
                           .collectives = parts.collectives[at(pass)],
                           .pieces = plan.tp_overlap_pieces > 0 ? plan.tp_overlap_pieces : plan.tp,
                           .slowdown = whole.tensor_slowdown};
  return (f * (all - piped) + k[C::kTensorOverlapped] * piped_exposed(layers, setting.fidelity)) /
         all;
}

Seconds cost_time(const ChunkSetting& setting, const ChunkParts& parts, TrainingCost cost,
                  TrainingPass pass) {
  const Seconds time = parts.time[at(cost)][at(pass)];
  if (time <= Seconds(0)) return time;
  return cost_factor(setting, parts, cost, pass) * time;
}

namespace {

// The time of communication whose part on the port, `on_port`, takes twice as long. The time is
// multiplied by `constant` later, the part on the port is not.
Seconds twice_on_port(Seconds time, Seconds on_port, double constant) {
  return constant > 0 ? time + std::min(on_port / constant, time) : time;
}

// The factor of transfers of sharded weights. Gradients of ZeRO 2 have none, as those of its last
// micro-batch, which travel after the passes.
double sharded_factor(const ChunkSetting& setting) {
  return setting.job.plan.zero == 3 ? setting.constants[C::kSharded] : 1;
}

ChunkParts contended(ChunkParts parts, const ChunkSetting& setting) {
  const TrainingConstants& k = setting.constants;
  for (const TrainingCost cost : kCollectiveCosts) {
    const double f = k.value[at(cost)];
    for (std::size_t pass = 0; pass < kTrainingPasses; ++pass) {
      Seconds& time = parts.time[at(cost)][pass];
      if (parts.on_port[at(cost)][pass] <= Seconds(0)) continue;
      const Seconds twice = twice_on_port(time, parts.on_port[at(cost)][pass], f);
      if (cost == TrainingCost::kTensor) parts.piped[pass] *= twice / time;
      if (cost == TrainingCost::kContext)
        parts.hops[pass] = twice_on_port(parts.hops[pass], parts.hops_on_port[pass], f);
      time = twice;
    }
  }
  const double f = sharded_factor(setting);
  parts.gather = twice_on_port(parts.gather, parts.gather_on_port, f);
  parts.gather_again = twice_on_port(parts.gather_again, parts.gather_again_on_port, f);
  parts.scatter = twice_on_port(parts.scatter, parts.scatter_on_port, f);
  return parts;
}

// Time on the port of the communication of one pass, at most the time of that communication.
Seconds on_port(const ChunkParts& parts, const TrainingConstants& k, TrainingPass pass) {
  Seconds sum;
  for (const TrainingCost c : kCollectiveCosts)
    sum += std::min(parts.on_port[at(c)][at(pass)], k.value[at(c)] * parts.time[at(c)][at(pass)]);
  return sum;
}

// The chunk's times without the communication of sharded weights.
ChunkTime passes_time(const ChunkSetting& setting, const ChunkParts& parts) {
  const TrainingConstants& k = setting.constants;
  const auto time = [&](TrainingCost cost, TrainingPass p) {
    return cost_time(setting, parts, cost, p);
  };
  std::array<Seconds, kTrainingPasses> pass{};
  for (std::size_t c = 0; c < kTrainingCosts; ++c)
    for (std::size_t p = 0; p < kTrainingPasses; ++p)
      pass[p] += time(static_cast<TrainingCost>(c), static_cast<TrainingPass>(p));
  ChunkTime t;
  t.forward = pass[at(Work::kForward)];
  t.backward_input = pass[at(Work::kRecompute)] + pass[at(Work::kBackwardInput)];
  t.backward_weight = pass[at(Work::kBackwardWeight)];
  t.forward_on_port = on_port(parts, k, Work::kForward);
  t.backward_input_on_port =
      on_port(parts, k, Work::kRecompute) + on_port(parts, k, Work::kBackwardInput);
  t.backward_weight_on_port = on_port(parts, k, Work::kBackwardWeight);
  t.forward_exchange = time(TrainingCost::kExpertExchange, Work::kForward);
  t.forward_experts = time(TrainingCost::kExperts, Work::kForward);
  for (const Work p : {Work::kRecompute, Work::kBackwardInput, Work::kBackwardWeight}) {
    t.backward_exchange += time(TrainingCost::kExpertExchange, p);
    t.backward_experts += time(TrainingCost::kExperts, p);
  }
  // The host launches kernels, and saved tensors travel to the host and back, during computation.
  const auto with_host = [&](Seconds pass, double kernels) {
    const Seconds launched = std::max(pass, k.launch_time(kernels));
    if (parts.offload <= Seconds(0)) return launched;
    const auto offloaded = setting.fidelity == Fidelity::kEvents ? run_offloaded : offloaded_time;
    return offloaded(launched, parts.offload, std::max(1, parts.layers));
  };
  const Seconds forward = with_host(t.forward, parts.kernels[0]);
  const Seconds backward = t.backward_input + t.backward_weight;
  const Seconds paced = with_host(backward, parts.kernels[1]);
  t.launch_bound = forward - t.forward + paced - backward;
  if (paced > backward && backward.value() > 0) {
    t.backward_input *= paced / backward;
    t.backward_weight *= paced / backward;
  }
  t.forward = forward;
  return t;
}

}  // namespace

ChunkTime chunk_time(const ChunkSetting& setting, const ChunkParts& parts) {
  const IterationParts& whole = setting.iteration;
  const TrainingJob& job = setting.job;
  ChunkTime t = passes_time(setting, parts);
  if (parts.gather + parts.scatter <= Seconds(0)) return t;
  const double f = sharded_factor(setting);
  const PortUse forward{t.forward, t.forward_on_port, {}};
  const PortUse backward{t.backward_input + t.backward_weight,
                         t.backward_input_on_port + t.backward_weight_on_port,
                         {}};
  const bool shared = parts.gather_on_port + parts.scatter_on_port > Seconds(0) &&
                      forward.on_port + backward.on_port > Seconds(0);
  const ChunkTime twice = shared ? passes_time(setting, contended(parts, setting)) : ChunkTime();
  const auto exposed = [&](PortUse pass, Seconds contended, Seconds gather, Seconds scatter,
                           Seconds port, bool back) {
    if (!job.plan.dp_overlap) return f * (gather + scatter);
    pass.contended = std::max(Seconds(0), contended - pass.alone);
    const PortSharing both = sharing(pass, f * (gather + scatter), port, whole.data_slowdown);
    const ShardedPass p{pass.alone, f * gather,    f * scatter, std::max(1, parts.layers),
                        back,       both.slowdown, both.rate,   job.plan.prefetch};
    const Seconds end = setting.fidelity == Fidelity::kEvents ? run_sharded(p) : sharded_time(p);
    return std::max(Seconds(0), end - pass.alone);  // Rounding may leave less than nothing.
  };
  const Seconds gathered =
      exposed(forward, twice.forward, parts.gather, Seconds(0), parts.gather_on_port, false);
  // A pass of ZeRO 2 is the mean of those that scatter and of the last one, which does not.
  const double scatters =
      job.plan.zero == 2
          ? 1 - 1 / static_cast<double>(std::max<std::int64_t>(1, job.micro_batches()))
          : 1;
  const Seconds scattered =
      scatters * exposed(backward, twice.backward_input + twice.backward_weight, parts.gather_again,
                         parts.scatter, parts.gather_again_on_port + parts.scatter_on_port, true);
  t.forward_exposed = gathered, t.backward_exposed = scattered;
  t.forward_sharded = f * parts.gather;
  t.backward_sharded = scatters * f * (parts.gather_again + parts.scatter);
  t.forward += gathered;
  t.backward_input += scattered;
  t.forward_on_port += std::min(parts.gather_on_port, f * parts.gather);
  t.backward_input_on_port +=
      scatters * std::min(parts.gather_again_on_port + parts.scatter_on_port,
                          f * (parts.gather_again + parts.scatter));
  return t;
}

ChunkTime contended_time(const ChunkSetting& setting, const ChunkParts& parts,
                         const ChunkTime& alone) {
  ChunkTime t = chunk_time(setting, contended(parts, setting));
  t.forward = std::max(t.forward, alone.forward);
  t.backward_input = std::max(t.backward_input, alone.backward_input);
  t.backward_weight = std::max(t.backward_weight, alone.backward_weight);
  return t;
}

bool shares_ports(const IterationParts& parts) {
  Seconds once = parts.send_on_port, in_passes, sharded;
  for (const StageParts& s : parts.stages) once += s.reduce_on_port + s.gather_on_port;
  for (const ChunkParts& c : parts.kinds) {
    for (const TrainingCost cost : kCollectiveCosts)
      for (const Seconds s : c.on_port[at(cost)]) in_passes += s;
    sharded += c.gather_on_port + c.scatter_on_port;
  }
  const int kinds = (once > Seconds(0)) + (in_passes > Seconds(0)) + (sharded > Seconds(0));
  return kinds > 1 || parts.send_on_port > Seconds(0);
}

IterationParts with_own_ports(IterationParts parts) {
  for (ChunkParts& c : parts.kinds) {
    c.on_port = {}, c.hops_on_port = {};
    c.gather_on_port = c.gather_again_on_port = c.scatter_on_port = Seconds(0);
  }
  for (StageParts& s : parts.stages) s.reduce_on_port = s.gather_on_port = Seconds(0);
  parts.send_on_port = Seconds(0);
  return parts;
}

ScheduledChunk scheduled(const ChunkSetting& setting, const ChunkTime& t) {
  ScheduledChunk c;
  c.forward = t.forward;
  c.backward_input = t.backward_input;
  c.backward_weight = t.backward_weight;
  // The part of an exchange that a pass of length `alone` can hide; sharded weights, which travel
  // during the pass, come first.
  const auto hidden = [&](Seconds exchange, Seconds alone, Seconds sharded) {
    return std::min(setting.constants[C::kExpertOverlapped] * exchange,
                    std::max(Seconds(0), alone - sharded));
  };
  c.forward_exchange = hidden(t.forward_exchange, t.forward - t.forward_exposed, t.forward_sharded);
  c.backward_exchange =
      hidden(t.backward_exchange, t.backward_input + t.backward_weight - t.backward_exposed,
             t.backward_sharded);
  c.forward_sharded = t.forward_sharded, c.backward_sharded = t.backward_sharded;
  c.forward_experts = t.forward_experts, c.backward_experts = t.backward_experts;
  c.exchange_slowdown = setting.iteration.exchange_slowdown;
  c.forward_on_port = t.forward_on_port;
  c.backward_input_on_port = t.backward_input_on_port;
  c.backward_weight_on_port = t.backward_weight_on_port;
  return c;
}

}  // namespace orrery
