// The noise of measured tables: how far apart two measurements of the same question are.
//
// No prediction from the question alone can be better than the best single answer to it. For a
// question that was measured more than once, the best answer is the median of its rows. The noise
// floor is the error of these medians. Questions that were measured once do not count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error_summary.h"

namespace orrery {

struct NoiseFloor {
  std::size_t questions = 0;  // number of questions that were measured more than once
  ErrorSummary best, ours;    // errors of their rows, by the medians and by the predictions
};

class NoiseSample {
 public:
  // Adds a measurement of `question` by `source`. A `row` that is added again is not a second
  // measurement.
  void add(std::string_view question, std::string_view source, std::string_view row,
           double measured, double predicted);

  // The floor of questions that one source measured more than once, each source by itself.
  NoiseFloor repeats() const;
  // The floor of questions that several sources measured, with one answer for all of them.
  NoiseFloor sources() const;

 private:
  struct Measurement {
    std::uint64_t question, source, row;  // hashes
    double measured, predicted;
  };
  // The measurements by question, source and row, each row once.
  std::vector<Measurement> sorted() const;
  template <class Same, class Counts>
  NoiseFloor floor(const Same& same, const Counts& counts) const;

  std::vector<Measurement> measurements_;
};

}  // namespace orrery
