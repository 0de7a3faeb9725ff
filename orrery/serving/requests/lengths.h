// Distributions of prompt and output lengths, as text:
//
//   1024                        always
//   uniform(128, 512)           whole numbers, both ends included
//   lognormal(1155, 1.1)        mean (not median) and standard deviation of the logarithm
//   zipf(128, 4096, 0.6)        whole numbers from 128 to 4096, the n-th with weight n^-0.6
//   128 | 512 | 1024            one of these, equally often
//
// Drawn by quantile from one uniform number each, so that two distributions that are close give
// close lengths for the same seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"

namespace orrery {

class Lengths {
 public:
  Lengths() = default;  // always 1
  // InputError saying what was expected; lengths are from 1 to 2^24.
  static Lengths parse(std::string_view text);

  // The length at probability u in [0, 1).
  std::int32_t at(double u) const;
  double mean() const;
  // Whether it is this length and no other.
  bool always(double length) const {
    return kind_ == Kind::kOneOf && values_.size() == 1 && values_[0] == length;
  }

 private:
  enum class Kind { kOneOf, kUniform, kLognormal, kZipf } kind_ = Kind::kOneOf;
  std::vector<double> values_ = {1};  // of kOneOf; the arguments of the others
  std::vector<double> cumulative_;    // of zipf
};

}  // namespace orrery
