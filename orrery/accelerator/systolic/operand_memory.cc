#include "orrery/accelerator/systolic/operand_memory.h"

namespace orrery {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// SCALE-Sim cuts an operand into sets of a hundredth of its memory.
constexpr std::int64_t kSetsOfAMemory = 100;

}  // namespace

OperandMemory::OperandMemory(std::int64_t memory_words, std::int64_t bandwidth, std::int64_t words,
                             std::int64_t padded_words, LateWords late)
    : set_words_(ceil_div(memory_words, kSetsOfAMemory)),
      sets_(words / set_words_ + 1),
      line_words_(bandwidth),
      late_(late) {
  const std::int64_t used = ceil_div(memory_words, 2), prefetched = memory_words - used;
  window_ = std::min(ceil_div(used, set_words_), sets_);
  step_ = std::min(ceil_div(prefetched, set_words_), sets_ - window_);
  end_ = window_;
  request_lines_ = ceil_div(prefetched, bandwidth);
  fetched_ = std::min(ceil_div(used, bandwidth), ceil_div(padded_words, bandwidth)) * bandwidth;
}

bool OperandMemory::holds_set(std::int64_t set) const {
  if (holds_all()) return true;
  if (begin_ < end_) return begin_ <= set && set < end_;
  return set >= begin_ || set < end_;
}

bool OperandMemory::holds(const WordRange& words) const {
  if (holds_all()) return true;
  const std::int64_t first = words.first / set_words_, last = (words.last - 1) / set_words_;
  if (begin_ < end_) return begin_ <= first && last < end_;
  return first >= begin_ || last < end_;
}

void OperandMemory::advance() {
  begin_ = (begin_ + step_) % sets_;
  end_ = (begin_ + window_) % sets_;
  ready_ += request_lines_ + 1;
  fetched_ += request_lines_ * line_words_;
}

std::int64_t OperandMemory::read(const WordRange& words, std::int64_t cycle) {
  std::int64_t arrival = cycle + 1;  // a hit is answered in the next cycle
  for (std::int64_t set = words.first / set_words_; set <= (words.last - 1) / set_words_; ++set) {
    while (!holds_set(set)) {
      advance();
      const std::int64_t difference = ready_ - arrival;
      if (late_ == LateWords::kScaleSim) {
        arrival += difference > 0 ? 2 * difference : difference;
      } else {
        arrival = std::max(arrival, ready_);
      }
    }
  }
  return arrival - cycle - 1;
}

std::int64_t OperandMemory::next_miss(const StreamedOperand& operand, std::int64_t part,
                                      std::int64_t cycle, std::int64_t end) const {
  cycle = std::max(cycle, operand.begin());
  const std::int64_t last = std::min(end, operand.end(part));
  if (holds_all() || cycle >= last) return end;
  if (!holds(operand.at(part, cycle))) return cycle;
  // Later cycles ask for later words: the first one that asks for a word at the window's end.
  const std::int64_t limit = end_ * set_words_;
  std::int64_t low = cycle, high = last;
  if (operand.at(part, cycle).first >= limit) return end;  // held up to the operand's end
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (operand.at(part, middle).last > limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < last ? low : end;
}

}  // namespace orrery
