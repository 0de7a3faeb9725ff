// The results' memory: it collects words in lines of the bandwidth, and drains half of its size
// whenever more than that has been written since.
//
// A drain takes a cycle for each line. It ends an incomplete line. The space of the drained words
// is free at once, as SCALE-Sim has it: an incomplete line that is not the last of a drain counts
// in full. The array waits only if the memory is full before a drain has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>

namespace orrery {

class ResultMemory {
 public:
  ResultMemory(std::int64_t memory_words, std::int64_t bandwidth);

  // The number of words after which the next one could start a drain, or find the memory full. It
  // is at least 0.
  std::int64_t quiet_words() const;
  std::int64_t words_until_full() const { return free_; }
  std::int64_t draining_until() const { return drain_end_; }
  // Words that neither start a drain nor fill the memory.
  void write_quietly(std::int64_t words);
  // Writes words one by one in `cycle`, and returns the cycles that the array waits.
  std::int64_t write(std::int64_t words, std::int64_t cycle);
  // Drains all that is left.
  void finish();
  std::int64_t drained() const { return drained_; }

 private:
  struct Lines {
    std::int64_t count, words;  // lines with the same number of words
  };
  void end_line();
  std::int64_t drain();  // returns the number of lines

  std::int64_t size_, half_, line_words_;
  std::int64_t free_;
  std::int64_t open_words_ = 0;  // written since the last drain
  std::deque<Lines> lines_;
  std::int64_t drain_end_ = 0;
  std::int64_t drained_ = 0;
};

}  // namespace orrery
