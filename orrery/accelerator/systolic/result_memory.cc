#include "orrery/accelerator/systolic/result_memory.h"

#include <algorithm>

namespace orrery {

ResultMemory::ResultMemory(std::int64_t memory_words, std::int64_t bandwidth)
    : size_(memory_words),
      half_(memory_words - (memory_words + 1) / 2),
      line_words_(bandwidth),
      free_(memory_words) {}

std::int64_t ResultMemory::quiet_words() const {
  return std::max<std::int64_t>(0, free_ - (size_ - half_));
}

void ResultMemory::write_quietly(std::int64_t words) {
  free_ -= words;
  open_words_ += words;
}

std::int64_t ResultMemory::write(std::int64_t words, std::int64_t cycle) {
  std::int64_t now = cycle;
  for (std::int64_t i = 0; i < words; ++i) {
    write_quietly(1);
    if (now < drain_end_) {
      if (free_ <= 0) now = drain_end_;
    } else if (free_ < size_ - half_) {
      end_line();
      drain_end_ = now + drain() - 1;
    }
  }
  return now - cycle;
}

void ResultMemory::end_line() {
  const std::int64_t whole = open_words_ / line_words_, rest = open_words_ % line_words_;
  if (whole > 0) lines_.push_back({whole, line_words_});
  if (rest > 0) lines_.push_back({1, rest});
  open_words_ = 0;
}

std::int64_t ResultMemory::drain() {
  const std::int64_t wanted = (half_ + line_words_ - 1) / line_words_;
  std::int64_t taken = 0, last = line_words_;
  while (taken < wanted && !lines_.empty()) {
    Lines& front = lines_.front();
    const std::int64_t n = std::min(front.count, wanted - taken);
    taken += n;
    last = front.words;
    front.count -= n;
    if (front.count == 0) lines_.pop_front();
  }
  const std::int64_t words = taken * line_words_ - (line_words_ - last);
  free_ += words;
  drained_ += words;
  return taken;
}

void ResultMemory::finish() {
  end_line();
  while (!lines_.empty()) drain();
}

}  // namespace orrery
