// Distributions of prompt and output lengths, as text:
//
//   1024                        always this length
//   uniform(128, 512)           whole numbers, both ends included, equally likely
//   lognormal(1155, 1.1)        mean (not median) and standard deviation of the logarithm
//   zipf(128, 4096, 0.6)        whole numbers from 128 to 4096; the n-th has weight n^-0.6
//   128 | 512 | 1024            one of these, equally likely
//
// A length is the quantile of one uniform random number, so that similar distributions give similar
// lengths for the same seed.
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
  // Reads a text as above. Throws InputError with what was expected; lengths are from 1 to 2^24.
  static Lengths parse(std::string_view text);

  // The length at probability u in [0, 1).
  std::int32_t at(double u) const;
  double mean() const;
  // Whether `length` is the only length.
  bool always(double length) const {
    return kind_ == Kind::kOneOf && values_.size() == 1 && values_[0] == length;
  }

 private:
  enum class Kind { kOneOf, kUniform, kLognormal, kZipf } kind_ = Kind::kOneOf;
  std::vector<double> values_ = {1};  // of kOneOf; else the arguments
  std::vector<double> cumulative_;    // of zipf
};

}  // namespace orrery
