#include "orrery/training/iteration.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

using C = TrainingConstant;
using Pass = TrainingPass;

constexpr std::size_t at(auto e) { return static_cast<std::size_t>(e); }

// The constant of a cost: they stand in the same order.
double factor(const TrainingConstants& k, TrainingCost cost, const TrainingPlan& plan) {
  double f = k.value[at(cost)];
  if (cost == TrainingCost::kTensor && plan.tp_overlap) f *= k[C::kTensorOverlapped];
  if (cost == TrainingCost::kExpertExchange && plan.ep_overlap) f *= k[C::kExpertOverlapped];
  return f;
}

// Computation with communication beside it.
Seconds beside(Seconds compute, Seconds communication, double exposed) {
  return std::max(compute, communication) + exposed * std::min(compute, communication);
}

}  // namespace

ChunkTime chunk_time(const ChunkParts& parts, const TrainingConstants& k, const TrainingJob& job) {
  std::array<Seconds, kTrainingPasses> pass{};
  for (std::size_t c = 0; c < kTrainingCosts; ++c) {
    const double f = factor(k, static_cast<TrainingCost>(c), job.plan);
    for (std::size_t p = 0; p < kTrainingPasses; ++p) pass[p] += f * parts.time[c][p];
  }
  ChunkTime t;
  t.forward = pass[at(Pass::kForward)];
  t.backward_input = pass[at(Pass::kRecompute)] + pass[at(Pass::kBackwardInput)];
  t.backward_weight = pass[at(Pass::kBackwardWeight)];
  const auto launched = [&](double kernels) { return microseconds(k[C::kLaunch] * kernels); };
  const Seconds forward = std::max(t.forward, launched(parts.kernels[0]));
  const Seconds backward = t.backward_input + t.backward_weight;
  const Seconds paced = std::max(backward, launched(parts.kernels[1]));
  t.launch_bound = forward - t.forward + paced - backward;
  if (paced > backward && backward.value() > 0) {
    t.backward_input *= paced / backward;
    t.backward_weight *= paced / backward;
  }
  t.forward = forward;
  if (job.plan.zero == 3 && parts.gather.value() > 0) {
    const double e = job.plan.dp_overlap ? k[C::kGatherExposed] : 1;
    const Seconds gathered = beside(t.forward, parts.gather, e);
    const Seconds scattered = beside(paced, parts.gather_again + parts.scatter, e);
    t.exposed_gather = gathered - t.forward + scattered - paced;
    t.forward = gathered;
    t.backward_input += scattered - paced;
  }
  return t;
}

namespace {

// The pipeline's idle time over that of 1F1B, for stages alike: B and W apart fill it (bubble.h).
double idle_factor(const TrainingPlan& plan, const ChunkTime& t) {
  const double whole = t.total().value();
  const double w = t.backward_weight.value();
  if (whole <= 0) return 1;
  if (plan.schedule == "zb-h1") return std::max(0.0, 1 - 2 * w / whole);
  if (plan.schedule == "zb-h2") return std::max(0.0, 1 - 3 * w / whole);
  if (plan.schedule == "zb-v")
    return std::max(0.0,
                    1 - 3 * std::min({w, t.forward.value(), t.backward_input.value()}) / whole);
  return 1;
}

}  // namespace

IterationTime iteration_time(const IterationParts& parts, const TrainingConstants& k,
                             const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  const double m = static_cast<double>(job.micro_batches());
  std::vector<ChunkTime> kinds;
  kinds.reserve(parts.kinds.size());
  for (const ChunkParts& kind : parts.kinds) kinds.push_back(chunk_time(kind, k, job));

  std::array<ChunkTime, 1> none{};
  const ChunkTime* slowest_chunk = none.data();
  Seconds all, slowest;
  int critical = 0;
  for (int s = 0; s < p.pp; ++s) {
    Seconds stage;
    for (int v = 0; v < p.vp; ++v) {
      const ChunkTime& t =
          kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(v * p.pp + s)])];
      stage += t.total();
    }
    all += stage;
    if (stage <= slowest) continue;
    slowest = stage, critical = s;
    slowest_chunk = &kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(s)])];
  }

  IterationTime out;
  for (int v = 0; v < p.vp; ++v) {
    const auto kind =
        static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(v * p.pp + critical)]);
    const ChunkParts& c = parts.kinds[kind];
    for (std::size_t cost = 0; cost < kTrainingCosts; ++cost) {
      const double f = m * factor(k, static_cast<TrainingCost>(cost), p);
      for (const Seconds s : c.time[cost]) out.work[cost] += f * s;
    }
    out.launches += m * kinds[kind].launch_bound;
    out.sharding += m * kinds[kind].exposed_gather;
  }
  const ChunkParts& first =
      parts.kinds[static_cast<std::size_t>(parts.kind[static_cast<std::size_t>(critical)])];
  if (p.zero == 3) out.sharding += first.gather / std::max(1, first.layers);
  out.bubble = k[C::kPipeline] * idle_factor(p, *slowest_chunk) * (all - slowest) / p.vp;
  // Every micro-batch comes and goes both ways; the first and last ones fill and drain the
  // pipeline.
  out.sends = p.pp > 1 ? 2 * (k[C::kSend] * m * p.vp + (p.pp - 1)) * parts.send : Seconds(0);

  // Gradients are reduced beside the last backward pass as chunks and layers finish; what was
  // gathered last stands in front of the first forward.
  StageParts most;
  for (const StageParts& s : parts.stages) {
    most.reduce = std::max(most.reduce, s.reduce);
    most.gather = std::max(most.gather, s.gather);
    most.optimizer = std::max(most.optimizer, s.optimizer);
    most.offload = std::max(most.offload, s.offload);
  }
  const auto exposed = [&](Seconds communication, Seconds window) {
    if (!p.dp_overlap) return communication;
    return beside(window, communication, k[C::kReduceExposed]) - window;
  };
  const Seconds backward = slowest_chunk->backward_input + slowest_chunk->backward_weight;
  out.reduce = exposed(most.reduce, backward);
  out.gather = exposed(most.gather, slowest_chunk->forward);
  out.optimizer = k[C::kOptimizer] * most.optimizer + most.offload;
  out.host = Seconds(1e-3 * k[C::kHost]);
  out.total = out.launches + out.sharding + out.bubble + out.sends + out.reduce + out.gather +
              out.optimizer + out.host;
  for (const Seconds s : out.work) out.total += s;
  return out;
}

Estimate<Seconds> iteration_estimate(const IterationParts& parts, const IterationTime& time,
                                     const TrainingConstants& k) {
  double shared = 0, own = 0;
  for (std::size_t c = 0; c < kTrainingCosts; ++c) {
    const double share = time.work[c] / time.total;
    shared += std::pow(share * parts.shared[c], 2);
    own += std::pow(share * parts.own[c], 2);
  }
  // A fit's error on rows of other sources holds that of the kernels: only what kernels are
  // uncertain beyond it (a GPU without measurements) comes on top.
  const double kernels = std::sqrt(shared + own);
  const double beyond = std::sqrt(std::max(0.0, kernels * kernels - k.error * k.error / 2));
  return {time.total, beyond, k.error, std::max(parts.origin, Origin::kFitted)};
}

}  // namespace orrery
