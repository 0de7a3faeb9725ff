// Step times of an engine that speculates: the target's step, then the drafter's passes, one after
// the other on the same GPUs.
//
//   a model   The drafter first runs over all tokens of the target's step, prompts included, so
//   that
//             its own KV cache is complete (vLLM's proposer for EAGLE, MTP and draft models); then
//             drafts - 1 times over one token (of a tree: over tree_tokens / drafts) of each
//             sequence that gets a token.
//   a share   No model of the drafter: each of `drafts` passes takes this share of a plain decode
//             step of the target over the same sequences. 0: n-gram look-up, which costs no GPU
//             time (its host time hides behind the step).
#pragma once

#include <memory>

#include "orrery/serving/steps/speculation.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

class DraftingClock : public StepTimer {
 public:
  // `drafter`: absent where `share` says what it costs.
  DraftingClock(const Speculation& speculation, std::unique_ptr<StepTimer> target,
                std::unique_ptr<StepTimer> drafter, double share);

  SimTime time(const StepShape& step) override;
  std::unique_ptr<StepTimer> another() const override;

 private:
  SimTime drafting(const StepShape& step);

  Speculation speculation_;
  std::unique_ptr<StepTimer> target_, drafter_;
  double share_;
};

}  // namespace orrery
