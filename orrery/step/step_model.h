// From kernels to a step: how long one forward pass of an engine takes, all ranks in step.
//
// The GPU's work is the sum of its kernels and of the collectives between them (tensor-parallel
// all-reduces are not overlapped with compute in serving engines). Around it stands the host:
//   eager steps     the CPU launches kernel after kernel; the slower of CPU and GPU sets the pace
//   graph replay    one launch; the batch is padded up to a captured size
//   host work       scheduling, sampling, detokenising: after the GPU, or hidden behind it
//   (asynchronous)
// In replayed steps of few tokens engines run shared experts on a second stream beside the routed
// ones (Execution::shared_experts_stream_tokens): what the routed experts take is hidden of them,
// but for the time that their weights need at the data sheet's bandwidth, which both share.
// Steps that carry a prefill also have a floor in engines whose prefill is bound by the host.
//
//   step = max(gpu + gaps, launches, prefill_floor) + host          host after the GPU
//   step = max(gpu + gaps, launches, prefill_floor, host)           host hidden
//   gaps = kernel_gap * kernels                                     eager only
//   launches = launch * operators + host_per_layer * layers
//                               + host_per_moe_layer * layers with routed experts    eager
//            = graph_launch * layers                         replayed
//            = launch * 2 * layers                           prefill replayed in pieces
//   host = host_per_step + host_per_sequence * sequences
// and no step is shorter than the front end needs for its tokens, frontend_per_token * sequences.
//
// Measured on layers and whole services (../docs/composition.md): with the right kernel class the
// sum alone is within 5 % where graphs are replayed; old eager engines are host-bound for small
// batches on many GPUs.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// One op of the step, all its calls.
struct StepTerm {
  ProgramOp op;
  Estimate<Seconds> time;
  Bound bound = Bound::kMemory;
  double of_peak = 0;  // roofline time of the bound / time, for compute- and memory-bound kernels
};

struct StepTime {
  Estimate<Seconds> total;
  Seconds kernels;        // sum of the kernels without collectives
  Seconds communication;  // sum of the collectives
  Seconds launches;       // what the CPU needs to launch the step
  Seconds host;           // host work that the step waits for, or that hides behind it
  Seconds exposed;        // total - kernels - communication: what the GPU idles
  Seconds serial_host;  // host work at the end of the step, that no GPU works beside; 0 where it is
                        // hidden
  bool replayed = false;        // from a graph
  int layers = 0;               // of the stage
  std::vector<StepTerm> terms;  // filled on request
};

class StepModel {
 public:
  // Borrows everything; the arguments must outlive it.
  StepModel(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
            const EngineProfile& engine, const KernelModel& kernels, const NetworkModel& network,
            double expert_skew = 0);

  // One step of one pipeline stage over `batch`; -1: the slowest stage, which sets the pace of a
  // full pipeline.
  StepTime time(const Batch& batch, bool with_terms = false, int stage = -1) const;

  const ParallelPlan& plan() const { return plan_; }

  // One batch alone through all stages, one after the other; the host's serial work comes once.
  Estimate<Seconds> through_all_stages(const Batch& batch) const;

 private:
  const Architecture& model_;
  const ParallelPlan& plan_;
  const Precision& precision_;
  const EngineProfile& engine_;
  const KernelModel& kernels_;
  const NetworkModel& network_;
  double expert_skew_;
};

// How much longer decode attention takes in a step that also carries a prefill
// (EngineProfile::Kernels::mixed_decode_exponent).
double mixed_decode_factor(const EngineProfile::Kernels& kernels, const DecodeAttention& decode);

}  // namespace orrery
