// What measured tables allow: how far apart two measurements of the same question are.
//
// No prediction that is given the question alone can be better than the best single answer to it.
// Of every question that was measured more than once that answer is the median of its rows, and the
// floor is the error of these medians. Questions that were measured once say nothing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error_summary.h"

namespace orrery {

struct NoiseFloor {
  std::size_t questions = 0;  // that were measured more than once
  ErrorSummary best, ours;    // of their rows: by the medians, and by the predictions
};

class NoiseSample {
 public:
  // `question`, `source`, `row`: what was asked, who measured it, and which row it is; a row that
  // comes again is no second measurement.
  void add(std::string_view question, std::string_view source, std::string_view row,
           double measured, double predicted);

  // Questions that one source measured more than once, each source by itself.
  NoiseFloor repeats() const;
  // Questions that more than one source measured: one answer for all of them.
  NoiseFloor sources() const;

 private:
  struct Measurement {
    std::uint64_t question, source, row;  // hashes
    double measured, predicted;
  };
  // Sorted by question, source and row, each row once.
  std::vector<Measurement> sorted() const;
  template <class Same, class Counts>
  NoiseFloor floor(const Same& same, const Counts& counts) const;

  std::vector<Measurement> measurements_;
};

}  // namespace orrery
