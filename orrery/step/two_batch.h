// Two-batch overlap of serving engines (SGLang's --enable-two-batch-overlap, vLLM's --enable-dbo):
// the layers that move tokens to experts by DeepEP's kernels are computed as two halves of the
// batch, A and B. While the tokens of one half travel, the GPU computes a part of the layer for the
// other half, the window of the move:
//
//                    steps with prompts (normal kernels)     decode (low-latency kernels)
//   A's dispatch     B's shared experts and attention        A's shared experts, B's attention
//                                                            before its core
//   B's dispatch     A's experts                             B's shared experts
//   A's combine      B's experts, A's shared experts         core of B's attention to the router
//   B's combine      A's shared experts and attention,       A's attention before its core
//                    B's shared experts
//
//   layers = kernels + sum over moves max(0, move - window), and at least the moves together
//
// with the kernels and moves of both halves. These are SGLang's stages
// (batch_overlap/operations_strategy.py): in decode B is two of six stages behind A, so that
// nothing hides behind the routed experts. vLLM's order is taken to be the same. A half takes more
// than half of the time of the batch, because it reads the same weights. What is exposed before the
// first window of a step and after the last is not counted.
//
// DeepEP's normal kernels hold a share of the multiprocessors, 20 of them, and SGLang gives its
// products the others all of the time (deep_gemm_num_sms of the same file): kernels of the halved
// layers that are bound by arithmetic take 1 / (1 - share) as long. Low-latency kernels hold none
// (DeepEP's hooks receive in the background).
#pragma once

#include <vector>

#include "orrery/step/step_model.h"
#include "orrery/workload/inference/program.h"

namespace orrery {

// Whether a step of `tokens` tokens of each dp group is halved: with two_batch, from 32 tokens in
// steps that only decode and from 512 in others. These are the defaults of vLLM
// (dbo_decode_token_threshold and dbo_prefill_token_threshold, vllm/config/parallel.py).
bool in_two_batches(const ParallelPlan& plan, std::int64_t tokens, bool decoding);

// The larger half of a batch: half of the sequences of every group of sequences, or of the tokens
// of a dp group's only sequence (whose halves differ in past tokens; the mean is taken).
Batch half_of(const Batch& batch, int dp);

// The program of a step in two halves: in layers that move tokens by DeepEP's kernels the ops of
// `half`, each twice as often; all other ops as in `whole`.
Program two_batches(Program whole, const Program& half);

// Collects the moves and kernels of the halved layers, in the order of the program, and cuts the
// moves to the part that no kernel hides.
class OverlappedMoves {
 public:
  struct Move {
    StepTerm term;           // with its exposed time
    Estimate<Seconds> time;  // the same with the error of the whole of the exposed moves
    Seconds call;            // its kernel in the sum of the step's times (TimeSum)
  };

  // `on`: whether the program is in two halves. Otherwise nothing is hidden.
  OverlappedMoves(const Program& program, bool on);

  // Whether the op belongs to a halved layer.
  bool halves(const ProgramOp& op) const;
  // A move of a halved layer.
  void add_move(const StepTerm& term, Seconds call);
  // An op that is no move. Has no effect outside of the halved layers.
  void add_kernel(const ProgramOp& op, Seconds time);

  std::vector<Move> exposed() const;

 private:
  // Both halves of the layers of a LayerSpec.
  struct Layers {
    Seconds before_core, core, experts, shared;  // kernels
    Seconds dispatch, combine;
  };
  // The exposed time of a move, and the time of the moves that have a part in it.
  struct Exposed {
    Seconds time, moves;
  };
  Exposed dispatch(const Layers& l) const;
  Exposed combine(const Layers& l) const;

  bool on_;
  bool low_latency_ = false;
  int spec_ = -1;               // LayerSpec of the last op
  bool in_core_ = false;        // the last op is the core of the mixer or behind it
  std::vector<bool> moving_;    // by LayerSpec
  std::vector<Layers> layers_;  // by LayerSpec
  std::vector<Move> moves_;
};

}  // namespace orrery
