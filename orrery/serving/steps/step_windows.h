// The steps of the engines of a pool in consecutive windows of time, from which the power of a
// fleet over time follows (orrery/scenario/fleet/fleet_energy.h).
//
// A step counts in the window in which it starts, with all of its work. The time in which it runs
// is divided among the windows that it touches. Windows are of one length. It doubles as soon as
// there would be more than kMostWindows of them, so that the memory does not grow with the length
// of a simulation. All sums are whole numbers: the order of additions does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// The sequences of some steps, of all ranks of an engine.
struct StepCounts {
  std::int64_t steps = 0;
  std::int64_t decodes = 0, decode_past = 0;  // sequences that decode, sum of their cached tokens
  std::int64_t prompts = 0, prompt_tokens = 0, prompt_past = 0;  // parts of prompts

  bool operator==(const StepCounts&) const = default;
  StepCounts& operator+=(const StepCounts& more);
};

struct StepWindow {
  std::int64_t busy = 0, present = 0;  // ps in which steps ran and in which engines were not off
  // The steps that start in the window: the sum of their durations in ps, and the sequences of
  // those without prompts and of those with prompts.
  std::int64_t started = 0;
  StepCounts decoding, prefilling;

  bool operator==(const StepWindow&) const = default;
  StepWindow& operator+=(const StepWindow& more);
};

class StepWindows {
 public:
  static constexpr std::size_t kMostWindows = std::size_t{1} << 16;

  // `width`: of a window, above 0.
  explicit StepWindows(SimTime width) : width_(width) {}

  // A step, which runs for `duration`. REQUIRES start >= 0.
  void add(const StepCounts& step, SimTime start, SimTime duration);
  // Consecutive steps: each of `times` but the last is the start of one, and the next of them is
  // its end. In each step `sequences` sequences decode, with `past` cached tokens in all before the
  // first, and nothing else.
  void add_decodes(std::int64_t sequences, std::int64_t past, std::span<const SimTime> times);
  // `engines` engines are not off from `from` to `to`.
  void add_present(SimTime from, SimTime to, std::int64_t engines = 1);
  // Adds what `other`, whose width was the same at first, has received.
  void add(const StepWindows& other);

  // The first one starts at 0.
  const std::vector<StepWindow>& windows() const { return windows_; }
  SimTime width() const { return width_; }

  bool operator==(const StepWindows& o) const {
    return width_ == o.width_ && windows_ == o.windows_;
  }

 private:
  // The window of a time, which is remembered: steps that follow each other mostly start in one.
  std::size_t at(SimTime time) {
    if (time < known_ || time - known_ >= width_) {
      known_at_ = static_cast<std::size_t>(time.ps / width_.ps);
      known_ = SimTime{time.ps / width_.ps * width_.ps};
    }
    return known_at_;
  }
  // Makes a window for every time before `end`.
  void cover(SimTime end);
  void widen();
  // Adds to `sum` of each window the time of it that lies within [from, to), times `by`.
  void spread(SimTime from, SimTime to, std::int64_t by, std::int64_t StepWindow::* sum);

  SimTime width_;
  std::vector<StepWindow> windows_;
  SimTime covered_;  // every time before it has a window
  SimTime known_;    // start of a window
  std::size_t known_at_ = 0;
};

}  // namespace orrery
