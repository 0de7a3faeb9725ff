// Step times of an engine with speculative decoding: the target's step, then the drafter's passes,
// one after the other on the same GPUs.
//
// A drafter that is a model first runs over all tokens of the target's step, prompts included, so
// that its own KV cache is complete (vLLM's proposer for EAGLE, MTP and draft models). It then runs
// drafts - 1 times over one token (for a tree: over tree_tokens / drafts tokens) of each sequence
// that gets a token.
//
// Without a model of the drafter, each of `drafts` passes takes the share `share` of a plain decode
// step of the target over the same sequences. n-gram look-up has share 0: it costs no GPU time, and
// its host time overlaps with the step.
#pragma once

#include <memory>

#include "orrery/serving/steps/speculation.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

class DraftingClock : public StepTimer {
 public:
  // `drafter`: step times of the drafter; null: `share` gives its cost.
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
