// An operand's memory: one half serves the array while the other is prefetched.
//
// The operand's words, in the order in which they are fetched, form sets of a hundredth of the
// memory. A window of as many consecutive sets as half of the memory holds can be read. A word
// outside of it moves the window on by the prefetched half, round the operand's end, until it is
// inside; each move requests half of the memory, takes a cycle for each line of the bandwidth and
// one of latency, and starts when the one before has ended. The first half is there when the clock
// starts.
#pragma once

#include <cstdint>

#include "orrery/accelerator/systolic/folds.h"

namespace orrery {

class OperandMemory {
 public:
  // `words` of the operand, with `padded_words` in the requests of its whole parts.
  OperandMemory(std::int64_t memory_words, std::int64_t bandwidth, std::int64_t words,
                std::int64_t padded_words, LateWords late);

  // Whether the window never moves.
  bool holds_all() const { return window_ == sets_; }
  bool holds(const WordRange& words) const;
  // Reads the words at `cycle`, and returns the cycles that the array waits for them. The count of
  // LateWords::kScaleSim can be negative, which is no wait.
  std::int64_t read(const WordRange& words, std::int64_t cycle);
  std::int64_t fetched() const { return fetched_; }  // words requested so far

  // The first cycle of [cycle, end) at which a streamed operand asks for words that are not held,
  // else `end`.
  std::int64_t next_miss(const StreamedOperand& operand, std::int64_t part, std::int64_t cycle,
                         std::int64_t end) const;

 private:
  bool holds_set(std::int64_t set) const;
  void advance();

  std::int64_t set_words_, sets_, window_, step_;
  std::int64_t request_lines_, line_words_;
  LateWords late_;
  std::int64_t begin_ = 0, end_;  // of the window; it wraps round where end_ <= begin_
  std::int64_t ready_ = -1;       // the cycle at which the last request was answered
  std::int64_t fetched_ = 0;
};

}  // namespace orrery
