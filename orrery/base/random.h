// Random numbers by counter: the n-th number of a named stream is a pure function of (seed, name,
// n), so that results do not depend on the order or the thread in which numbers are drawn.
//
// Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
#pragma once

#include <array>
#include <boost/math/policies/policy.hpp>
#include <cstdint>
#include <string_view>

namespace orrery {

// The policy with which Boost's distributions are called: it computes in double. Boost's default,
// long double, has other digits on every kind of processor.
using DoubleMath = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

// FNV-1a, 64 bits: for stream names and for splits of data by name.
std::uint64_t hash_text(std::string_view text);

// Ten rounds of Philox4x32.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  // Starts again at the `index`-th number.
  void seek(std::uint64_t index) { index_ = index; }

  std::uint64_t bits();
  double uniform();                      // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t n);  // [0, n), without bias; n > 0. May take more than one
  double normal();                       // mean 0, deviation 1; takes one number
  double exponential();                  // mean 1

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t stream_, index_ = 0;
};

}  // namespace orrery
