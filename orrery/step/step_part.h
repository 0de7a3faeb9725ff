// The times of the ops of a step, and their sum.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/step/step_model.h"
#include "orrery/workload/inference/program.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// The facts by which an engine runs a step in one way or another.
struct StepFacts {
  std::int64_t tokens = 0;  // of each dp group, without padding
  bool decoding = false;    // every sequence computes one token or verifies drafts
  bool mixed = false;       // some sequences decode and some do not
  bool replayed = false;    // from a captured graph
  bool in_pieces = false;   // replayed but for attention
  bool halves = false;      // in two batches (two_batch.h)
  bool first_stage = true;
  bool shared_stream = false;  // shared experts run on a second stream

  bool padded() const { return replayed || in_pieces; }
};

// All calls of one op in a step.
struct StepPart {
  Estimate<Seconds> time;
  Seconds call;             // of one call
  Seconds compute, memory;  // FLOPs and bytes over the data sheet's rates
  double calls = 0;
  double of_peak = 0;  // StepTerm::of_peak
  Family family = Family::kOther;
  Bound bound = Bound::kNetwork;
  bool network = false, experts = false;  // a collective; routed experts
  bool left_out = false;                  // the engine folds the kernel into another
  StepKind kind;                          // its work, if kinds are asked for
};

// The parts of the ops of one step, which are asked for in the order of the program.
class StepParts {
 public:
  // Borrows the models. `kinds`: whether StepPart::kind is filled in.
  StepParts(const EngineProfile& engine, const KernelModel& kernels, const NetworkModel& network,
            const StepFacts& facts, bool kinds = false);

  // `beside_moves`: share of the multiprocessors that moves of tokens take from the op while it
  // runs.
  StepPart of(const ProgramOp& op, double beside_moves = 0);

 private:
  void collective(const ProgramOp& op, const Collective& c, StepPart& part) const;
  void kernel(const ProgramOp& op, double beside_moves, StepPart& part);

  const EngineProfile& engine_;
  const KernelModel& kernels_;
  const NetworkModel& network_;
  StepFacts facts_;
  bool kinds_;
  double later_;    // factor of stages after the first
  Seconds routed_;  // time of routed experts with which shared experts can still overlap
};

// Multiprocessors of DeepEP's normal kernels: the default of its Buffer (num_sms,
// deep_ep/buffer.py).
inline constexpr int kExchangeSms = 20;

// The sum of the times of the parts of a step, with its error.
//
// It follows the laws of EstimateSum (orrery/base/estimate.h): shared errors add linearly inside a
// family and in quadrature between families; own errors add linearly for calls of the same kernel
// and in quadrature between kernels. Two parts are calls of the same kernel if the models predict
// exactly the same time for one call of each: equal ops of different layers, and ops of different
// names that the models cannot tell apart (a norm and a copy of as many bytes). Whatever the
// prediction is off by, it is off by for both (docs/decisions/0003-kernel-surfaces.md). Calls that
// take no time are no kernel and share their error with none.
//
// In a step with more than kMostKernels kernels some of them count as one, which changes its
// interval a little and its time not at all. A sum is small to copy, because a memory keeps many.
class TimeSum {
 public:
  static constexpr std::size_t kMostKernels = 64;

  void add(Family family, const Estimate<Seconds>& time, Seconds call);
  Estimate<Seconds> total() const;

 private:
  struct Kernel {
    Seconds call;
    double own;  // absolute error
  };
  double total_ = 0, own_squared_ = 0;  // the latter of what is no kernel
  std::array<double, kFamilies> shared_{};
  Origin origin_ = Origin::kExact;
  std::vector<Kernel> kernels_;
};

// Sums of the parts of a step. A step with a memory and one without add the parts in the same
// order: those of ops of OpSource::kTokens, of kOutputs, and of kGroups, each in the order of the
// program. Their sums are therefore equal to the bit.
struct PartSum {
  TimeSum time;
  std::vector<StepKind> kinds;  // StepTime::kinds
  Seconds kernels, communication, compute, memory;
  double launched = 0, moe_layers = 0;  // calls; those of routed experts

  // Counts the calls of a part, without its time.
  void count(const StepPart& part) {
    compute += part.compute, memory += part.memory;
    launched += part.calls;
    if (part.experts) moe_layers += part.calls;
  }
  void add_time(const StepPart& part) {
    (part.network ? communication : kernels) += part.time.value;
    time.add(part.family, part.time, part.call);
  }
  // All of a part. Nothing for one that is left out.
  void add(const StepPart& part);
};

}  // namespace orrery
