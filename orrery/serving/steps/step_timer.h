// The interface through which a simulation asks how long a step takes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// A chunk of a prompt, or of an evicted sequence, that a step computes.
struct PromptChunk {
  std::int32_t new_tokens = 0, past = 0;  // past: cached tokens before the chunk
  bool sampled = true;                    // it is the last chunk, and the step makes a token
};

// The work of one step.
struct StepShape {
  std::int64_t decodes = 0;        // sequences that compute one token
  std::int64_t decode_past = 0;    // sum of their cached tokens
  std::int64_t verifies = 0;       // sequences that verify drafts
  std::int64_t verify_tokens = 0;  // sum over them: the last token and the drafts of each
  std::int64_t verify_past = 0;    // sum of their cached tokens
  std::span<const PromptChunk> chunks;
  std::int64_t adapters = 0;  // number of different LoRA adapters of its sequences
  // Attention data parallel: number of tokens that all ranks compute, where this is the step of the
  // slowest rank. 0: there is one rank.
  std::int64_t wave_tokens = 0;
};

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  // Time of the step; with pipeline stages, of the slowest stage. REQUIRES decodes > 0, verifies >
  // 0 or a chunk.
  virtual SimTime time(const StepShape& step) = 0;
  // The times of consecutive steps in which the same `sequences` sequences decode and nothing else
  // is computed, with `past` cached tokens in all before the first: what time() gives for each.
  // Returns how many of `times` were filled, at least one. A timer that is asked for a step at a
  // time fills the first.
  virtual std::size_t decode_times(std::int64_t sequences, std::int64_t past,
                                   std::span<SimTime> times) {
    StepShape step;
    step.decodes = sequences;
    step.decode_past = past;
    times.front() = time(step);
    return 1;
  }
  // Time in which the step passes all pipeline stages.
  virtual SimTime latency(const StepShape& step) { return time(step); }

  // A timer with the same answers for another thread; null if the timer cannot be copied.
  virtual std::unique_ptr<StepTimer> another() const { return nullptr; }
  // The k-th such copy, which is kept with its tables between calls. Not thread-safe.
  StepTimer* for_thread(std::size_t k) {
    while (for_threads_.size() <= k) for_threads_.push_back(another());
    return for_threads_[k].get();
  }

 private:
  std::vector<std::unique_ptr<StepTimer>> for_threads_;
};

}  // namespace orrery
