// How long a step takes: what a simulation asks the rest of the library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// A part of a prompt (or of an evicted sequence) that a step computes.
struct PromptChunk {
  std::int32_t new_tokens = 0, past = 0;
  bool sampled = true;  // it is the last one: the step yields a token
};

// What a step computes.
struct StepShape {
  std::int64_t decodes = 0;        // sequences that compute one token after a cached past
  std::int64_t decode_past = 0;    // sum of their cached tokens
  std::int64_t verifies = 0;       // sequences that verify drafts after a cached past
  std::int64_t verify_tokens = 0;  // of all of them: each its last token and its drafts
  std::int64_t verify_past = 0;
  std::span<const PromptChunk> chunks;
  std::int64_t adapters = 0;  // different ones of its sequences
  // Of attention data parallel: this is the slowest rank's step, and all ranks compute so many
  // tokens. 0: there is one rank.
  std::int64_t wave_tokens = 0;
};

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  // REQUIRES decodes > 0, verifies > 0 or a chunk.
  // With pipeline stages: of the slowest stage.
  virtual SimTime time(const StepShape& step) = 0;
  // Through all stages.
  virtual SimTime latency(const StepShape& step) { return time(step); }

  // One that answers the same and can be used on another thread; null: there is none.
  virtual std::unique_ptr<StepTimer> another() const { return nullptr; }
  // The k-th other one, for a thread beside this one's; kept here with what it has learned. Not
  // thread-safe.
  StepTimer* for_thread(std::size_t k) {
    while (for_threads_.size() <= k) for_threads_.push_back(another());
    return for_threads_[k].get();
  }

 private:
  std::vector<std::unique_ptr<StepTimer>> for_threads_;
};

}  // namespace orrery
