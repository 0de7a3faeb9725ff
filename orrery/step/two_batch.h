// Two-batch overlap of serving engines (SGLang's --enable-two-batch-overlap, vLLM's --enable-dbo):
// the layers that move tokens to experts by DeepEP's kernels are computed as two halves of the
// batch. While the tokens of one half travel, the GPU computes a part of the layer for the other
// half, its window:
//
//                 steps with prompts (normal kernels)   decode (low-latency kernels)
//   dispatch      attention and router                  attention before its core, shared experts
//   combine       routed and shared experts             core of attention to the router
//
//   layers = kernels outside of the windows + sum over windows max(move, kernels + held move)
//
// with the kernels and moves of both halves. This is the order of SGLang
// (batch_overlap/operations_strategy.py): in decode the second half is two of five stages behind,
// so that nothing hides behind the routed experts. vLLM's order is taken to be the same. A half
// takes more than half of the time of the batch, because it reads the same weights. What is exposed
// before the first window of a step and after the last is not counted.
//
// DeepEP's normal kernels hold a share `held` of the multiprocessors, which kernels lose as long as
// a move runs; all kernels count as bound by arithmetic there. Low-latency kernels hold none
// (DeepEP's hooks receive in the background).
#pragma once

#include <array>
#include <cstddef>
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
    StepTerm term;            // with its exposed time
    Estimate<Seconds> error;  // the same time with the error that it has in the step: where the
                              // move is longer than the window, that of the whole move
    std::size_t kernel = 0;   // its number in the sum of the step's times
  };

  // `on`: whether the program is in two halves. Otherwise nothing is hidden.
  OverlappedMoves(const Program& program, bool on);

  // Whether the op is a move of a halved layer.
  bool hides(const ProgramOp& op) const { return on_ && op.move.has_value(); }
  void add_move(const StepTerm& term, double held, std::size_t kernel);
  // An op that is no move. Has no effect outside of the halved layers.
  void add_kernel(const ProgramOp& op, Seconds time);

  std::vector<Move> exposed() const;

 private:
  struct Window {
    Seconds kernels, moved, held;
  };
  enum WindowOf : std::size_t { kDispatch, kCombine, kNone };
  WindowOf window_of(const ProgramOp& op) const;

  bool on_;
  bool low_latency_ = false;
  int spec_ = -1;                               // LayerSpec of the last op
  bool in_core_ = false;                        // the last op is the core of the mixer or behind it
  std::vector<bool> moving_;                    // by LayerSpec
  std::vector<std::array<Window, 2>> windows_;  // by LayerSpec
  std::vector<Move> moves_;
};

}  // namespace orrery
