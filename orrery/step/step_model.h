// From kernels to a step: the time of one forward pass of a serving engine.
//
// The model of a step, which other pages and headers link to. All names in it are constants of the
// engine's profile (orrery/workload/plan/engine.h, EngineProfile::Execution) or counts of the step.
//
//   gpu      = sum of kernels + sum of collectives
//   gaps     = kernel_gap * kernels                                     eager steps
//            = 0                                                        replayed steps
//   launches = launch * operators + host_per_layer * layers
//              + host_per_moe_layer * layers with routed experts        eager steps with a prompt
//            = graph_launch * layers                                    replayed decode steps
//            = launch * 2 * layers                                      prompts replayed in pieces
//   host     = host_per_step + host_per_sequence * sequences
//   floor    = prefill_floor in eager steps that carry a prompt, else 0
//   step     = max(gpu + gaps, launches, floor) + host                  without host_overlapped
//            = max(gpu + gaps, launches, floor, host)                   with host_overlapped
//
// In an eager step the CPU launches one operator after the other, and the slower of CPU and GPU
// determines the time. A replayed step is one launch of a captured graph; its batch is padded to
// the next captured size (padded_tokens). A step is replayed if it only decodes and has at most
// graph_tokens tokens. With prefill_graphs, steps that carry prompts are replayed in pieces:
// attention is launched by itself, and all ops up to the next layer's attention are one graph, for
// the next captured size too.
//
// Collectives are not overlapped with computation, because serving engines wait for the all-reduce
// of a layer. Two-batch overlap (ExpertPlan::two_batch) is the exception: the layers that move
// tokens to experts by DeepEP's kernels are computed as two halves of the batch, and the moves of
// one half hide behind kernels of the other (two_batch.h).
//
// Shared experts of replayed steps with at most shared_experts_stream_tokens tokens, not halved,
// run on a second CUDA stream. They overlap with the routed experts, except for the time in which
// they read their own weights at the data sheet's bandwidth.
//
// Under a governor (step_governor.h) the kernels take the time of a lower clock
// (kernel/tiers/clocked_kernels.h). Collectives, launches and the host do not depend on it.
//
// docs/composition.md says how large the errors are against measured layers and services.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/step/step_governor.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

class StepMemory;
class StepMemories;
struct StepFacts;
struct PartSum;

// One op of a step, with all its calls.
struct StepTerm {
  ProgramOp op;
  Estimate<Seconds> time;
  Bound bound = Bound::kMemory;
  // Roofline time of the bound relative to the predicted time, 0 to 1. 0 for ops bound by neither
  // computation nor memory, and for kernels that are faster than the roofline (cached operands).
  double of_peak = 0;
};

// The work of the kernels of one kind, kind_name() of workload/ops/op.h, in one number format.
struct StepKind {
  std::string_view name;
  Dtype arithmetic{};  // of the FLOPs
  Seconds time;
  Flops flops;
  Bytes bytes;
};

struct StepTime {
  Estimate<Seconds> total;
  Seconds kernels;        // sum of the kernels without collectives
  Seconds communication;  // sum of the collectives
  Seconds compute;        // FLOPs of all kernels over the data sheet's peak rates
  Seconds memory;         // bytes of all kernels over the data sheet's bandwidth
  Seconds launches;       // CPU time of launching the step
  Seconds host;           // host work, whether or not it overlaps with the GPU
  Seconds exposed;        // total - kernels - communication: time in which the GPU idles
  Seconds serial_host;    // host work after the GPU's; 0 if host_overlapped
  bool replayed = false;  // the step is replayed from a captured graph
  int layers = 0;         // layers of the pipeline stage
  // Under a governor, its decision, and the time and the kernels without it. Else as without one.
  StepGovernor::Decision governed;
  Seconds ungoverned_total, ungoverned_kernels;
  std::vector<StepTerm> terms;  // filled if asked for
  std::vector<StepKind> kinds;  // of its kernels, collectives left out; filled if asked for
};

class StepModel {
 public:
  // Borrows all arguments, which must outlive it. `expert_skew` says how unequally tokens choose
  // routed experts (ProgramOptions::expert_skew); 0: equally.
  StepModel(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
            const EngineProfile& engine, const KernelModel& kernels, const NetworkModel& network,
            double expert_skew = 0);

  // From now on `governor` decides about the clock of every step. Borrows it; it may be null.
  void govern(const StepGovernor* governor) { governor_ = governor; }

  // The time of one step over `batch` on pipeline stage `stage`. Stage -1 is the slowest stage,
  // which determines the rate of a full pipeline. `with_terms` fills StepTime::terms and kinds.
  StepTime time(const Batch& batch, bool with_terms = false, int stage = -1) const {
    return time_with(batch, with_terms ? Detail::kTerms : Detail::kNone, stage);
  }
  // The same for the slowest stage, with StepTime::kinds alone, which a memory remembers.
  StepTime time_by_kind(const Batch& batch) const { return time_with(batch, Detail::kKinds, -1); }

  // The same steps, of which `memory`, which it borrows, remembers what it can (step_memory.h). The
  // memory is one of memories().take(kernels()). Their time() is not thread-safe.
  StepModel with(StepMemory& memory) const;
  const KernelModel& kernels() const { return kernels_; }
  // Memories of its steps for simulations, which ask for the same ops again and again.
  StepMemories& memories() const { return *memories_; }

  const ParallelPlan& plan() const { return plan_; }
  bool governed() const { return governor_ != nullptr; }

  // The time in which one batch passes all pipeline stages, while no other batch is in the
  // pipeline. The serial host work is counted once.
  Estimate<Seconds> through_all_stages(const Batch& batch) const;

 private:
  enum class Detail { kNone, kKinds, kTerms };
  StepTime time_with(const Batch& batch, Detail detail, int stage) const;
  // `memory`: of steps with these kernels; null: there is none.
  StepTime time_of(const KernelModel& kernels, const Batch& batch, Detail detail, int stage,
                   StepMemory* memory) const;
  StepFacts facts_of(const Batch& batch, int stage) const;
  // A step that is asked for.
  struct Asked {
    const KernelModel& kernels;
    const Batch& batch;
    const StepFacts& facts;
    const ProgramOptions& options;
    bool kinds;
  };
  // The counts of the program of a step (Program).
  struct Counts {
    std::int64_t sequences;
    int layers;
  };
  // All add the parts of a step to `sum`. `terms` receives its terms, if it is not null. The last
  // is for steps in two halves.
  Counts add_ops(const Asked& asked, PartSum& sum, std::vector<StepTerm>* terms,
                 StepMemory* memory) const;
  Counts add_remembered(const Asked& asked, PartSum& sum, StepMemory& memory) const;
  Counts add_halves(const Asked& asked, PartSum& sum, std::vector<StepTerm>* terms) const;

  const Architecture& model_;
  const ParallelPlan& plan_;
  const Precision& precision_;
  const EngineProfile& engine_;
  const KernelModel& kernels_;
  const NetworkModel& network_;
  double expert_skew_;
  const StepGovernor* governor_ = nullptr;
  StepMemory* memory_ = nullptr;
  std::shared_ptr<StepMemories> memories_;
};

// Factor on the time of decode attention in a step that also carries a prompt, >= 1
// (EngineProfile::Kernels::mixed_decode_exponent).
double mixed_decode_factor(const EngineProfile::Kernels& kernels, const DecodeAttention& decode);

}  // namespace orrery
