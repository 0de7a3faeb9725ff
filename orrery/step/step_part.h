// The times of the ops of a step, and their sum.
#pragma once

#include <array>
#include <cstddef>

#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/network/collectives/network_model.h"
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
  int section = 0;                        // of the op (OpOrigin)
};

// The parts of the ops of one step, which are asked for in the order of the program.
class StepParts {
 public:
  // Borrows the models.
  StepParts(const EngineProfile& engine, const KernelModel& kernels, const NetworkModel& network,
            const StepFacts& facts);

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
  double later_;    // factor of stages after the first
  Seconds routed_;  // time of routed experts with which shared experts can still overlap
};

// Multiprocessors of DeepEP's normal kernels: the default of its Buffer (num_sms,
// deep_ep/buffer.py).
inline constexpr int kExchangeSms = 20;

// Numbers the kernels of a step. Two ops are calls of the same kernel if the models predict exactly
// the same time for one call of each: equal ops of different layers, and ops of different names
// that the models cannot tell apart (a norm and a copy of as many bytes). Whatever the prediction
// is off by, it is off by for both (docs/decisions/0003-kernel-surfaces.md). Calls that take no
// time are no kernel.
//
// A step with more than kKernels kernels (prompts of many lengths) has some of them numbered alike,
// which changes its interval a little and its time not at all.
class KernelNumbers {
 public:
  std::size_t of(Seconds call);

 private:
  static constexpr std::size_t kKernels = 64;
  std::array<Seconds, kKernels> calls_{};  // 0: free
};

// Sums of the parts of a step, added in the order of the program.
struct PartSum {
  EstimateSum<Seconds> time;
  KernelNumbers numbers;
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
    time.add(part.family, part.time, numbers.of(part.call));
  }
};

}  // namespace orrery
