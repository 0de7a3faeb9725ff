#include "orrery/training/iteration/op_sums.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Share of the data sheet's bandwidth that elementwise kernels reach at most: additions of a
// gigabyte move 3.07 of 3.35 TB/s on an H100 (catalog/measured/h100-sxm-2026-11-26, elementwise).
constexpr double kReachedBandwidth = 0.92;

}  // namespace

void OpSums::add(const LaunchedOp& timed) {
  const TrainingOp& op = timed.op;
  const Estimate<Seconds>& call = timed.call;
  const Seconds time = call.value * op.count;
  parts_.time[at(op.cost)][at(op.pass)] += time;
  parts_.on_port[at(op.cost)][at(op.pass)] += timed.on_port * op.count;
  parts_.kernels[op.pass == TrainingPass::kForward ? 0 : 1] += op.count;
  if (op.cost == TrainingCost::kTensor && op.name == "tp_all_reduce") {
    parts_.piped[at(op.pass)] += time;
    parts_.collectives[at(op.pass)] += op.count;
  }
  if (op.cost == TrainingCost::kContext) add_context(timed, time);
  if (timed.kernel) add_kernel(timed);
  whole_.shared[at(op.cost)] += time.value() * call.shared;
  own_squared_[at(op.cost)] += std::pow(time.value() * call.own, 2);
  whole_.origin = std::max(whole_.origin, call.origin);
}

void OpSums::add_context(const LaunchedOp& timed, Seconds time) {
  const TrainingOp& op = timed.op;
  const bool gathers = std::get<Collective>(op.op).kind == Collective::Kind::kAllGather;
  const bool ring = plan_.context == ContextMethod::kRing || plan_.context == ContextMethod::kUsp;
  if (ring && gathers) {
    parts_.hops[at(op.pass)] += time;
    parts_.hops_on_port[at(op.pass)] += timed.on_port * op.count;
  }
  // Keys and values have one collective in a pass, but two, or one twice, in the backward pass.
  // The all-to-all of USP belongs to the same layer as its ring.
  const bool twice = op.pass == TrainingPass::kBackwardInput && plan_.ring_ranks() > 1;
  if (!ring || gathers || plan_.ring_ranks() == 1)
    parts_.contexts[at(op.pass)] += op.count / (twice ? 2 : 1);
}

void OpSums::add_kernel(const LaunchedOp& timed) {
  const TrainingOp& op = timed.op;
  const Seconds call = timed.call.value;
  parts_.flops += op.count * flops(op.op);
  double& most = parts_.of_peak[at(op.cost)][at(op.pass)];
  if (call > Seconds(0)) most = std::max(most, timed.kernel->compute / call);
  moved_[at(op.cost)][at(op.pass)] += op.count * std::min(timed.kernel->memory, call);
}

void OpSums::finish() {
  // Elementwise kernels and casts move their tensors at the bandwidth that copies reach, at best.
  for (const std::size_t cost : {at(TrainingCost::kElementwise), at(TrainingCost::kCasts)}) {
    for (std::size_t pass = 0; pass < kTrainingPasses; ++pass) {
      if (parts_.time[cost][pass] > Seconds(0))
        parts_.of_peak[cost][pass] =
            std::max(parts_.of_peak[cost][pass],
                     moved_[cost][pass] / (kReachedBandwidth * parts_.time[cost][pass]));
    }
  }
  // All stages run the same kernels, so their errors are added and not their squares.
  for (std::size_t k = 0; k < kTrainingCosts; ++k) whole_.own[k] += std::sqrt(own_squared_[k]);
}

}  // namespace orrery
