#include "orrery/serving/steps/drafting_clock.h"

#include <utility>

namespace orrery {

DraftingClock::DraftingClock(const Speculation& speculation, std::unique_ptr<StepTimer> target,
                             std::unique_ptr<StepTimer> drafter, double share)
    : speculation_(speculation),
      target_(std::move(target)),
      drafter_(std::move(drafter)),
      share_(share) {}

SimTime DraftingClock::time(const StepShape& step) { return target_->time(step) + drafting(step); }

std::unique_ptr<StepTimer> DraftingClock::another() const {
  return std::make_unique<DraftingClock>(speculation_, target_->another(),
                                         drafter_ ? drafter_->another() : nullptr, share_);
}

SimTime DraftingClock::drafting(const StepShape& step) {
  StepShape later;  // sequences that get a token, each with its past
  later.decodes = step.decodes + step.verifies;
  later.decode_past = step.decode_past + step.verify_past;
  for (const PromptChunk& c : step.chunks) {
    if (!c.sampled) continue;
    ++later.decodes;
    later.decode_past += c.past + c.new_tokens;
  }
  if (!drafter_ && (share_ == 0 || later.decodes == 0)) return {};
  if (!drafter_) return sim_seconds(target_->time(later).seconds() * share_ * speculation_.drafts);

  StepShape all = step;
  all.adapters = 0;  // the target's
  const SimTime first = drafter_->time(all);
  if (later.decodes == 0 || speculation_.drafts == 1) return first;
  const std::int64_t wide = speculation_.tree_tokens / speculation_.drafts;
  if (wide > 1) {
    later.verifies = later.decodes;
    later.verify_past = later.decode_past;
    later.verify_tokens = later.decodes * wide;
    later.decodes = later.decode_past = 0;
  }
  const SimTime one = drafter_->time(later);
  return first + one * (speculation_.drafts - 1);
}

}  // namespace orrery
