// Fast log2 and exp for the innermost formulas of the kernel models, and pairs of numbers that the
// processor computes with at once.
//
// quick_log2 and quick_exp use a table and a short series, and take a few nanoseconds where the C++
// library takes ten. Their results have the same digits on every machine, which the library's have
// not, and do not depend on whether one number, a pair or a whole number is given. The relative
// error is below 1e-13. log2 of a power of two is exact.
//
// Operators on a Two work on each of its numbers; with a double, on the double and each number.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "orrery/base/index.h"

namespace orrery {

namespace quick_math {

// ln(x) for x in [1, 2], by ln x = 2 artanh((x-1)/(x+1)).
constexpr double ln(double x) {
  const double z = (x - 1) / (x + 1);
  double sum = 0, power = z;
  for (int n = 1; n < 40; n += 2, power *= z * z) sum += power / n;
  return 2 * sum;
}

// Mantissas 1 + i/128, their reciprocals and logarithms.
struct Mantissa {
  double reciprocal = 1, log2 = 0;
};
inline constexpr std::size_t kMantissas = 128;
inline constexpr auto kMantissa = [] {
  std::array<Mantissa, kMantissas + 1> table;
  for (std::size_t i = 0; i <= kMantissas; ++i) {
    const double x = 1 + static_cast<double>(i) / kMantissas;
    table[i] = {1 / x, ln(x) / std::numbers::ln2};
  }
  return table;
}();

// 2^(i/64).
inline constexpr std::size_t kPowers = 64;
inline constexpr auto kPower = [] {
  std::array<double, kPowers> table{};
  for (std::size_t i = 0; i < kPowers; ++i) {
    const double x = std::numbers::ln2 * static_cast<double>(i) / kPowers;
    double term = 1;
    for (int n = 1; n < 25; term *= x / n++) table[i] += term;
  }
  return table;
}();

}  // namespace quick_math

using Two = double __attribute__((vector_size(16)));
inline Two both(double x) { return Two{x, x}; }
inline Two minimum(Two a, Two b) { return a < b ? a : b; }
inline Two maximum(Two a, Two b) { return a > b ? a : b; }

// The least whole numbers at or above 0 <= x < 2^51, where x is a multiple of 1/parts but for
// rounding errors that are far smaller; `below_half`: (1 - 1/parts) / 2. Beyond, x within its
// rounding error.
inline Two ceiling(Two x, Two below_half) {
  return (x + below_half) + 0x1.8p52 - 0x1.8p52;  // no digits after the point are left
}

namespace quick_math {
// A number's bits, cut for log2.
inline constexpr std::uint64_t kOne = 0x3FF0'0000'0000'0000, kFraction = 0x000F'FFFF'FFFF'FFFF;
inline constexpr int kIndexBits = 45;  // below those that index the table
inline constexpr std::uint64_t kHalf = std::uint64_t{1} << (kIndexBits - 1);
inline constexpr std::uint64_t kIndex = ~((std::uint64_t{1} << kIndexBits) - 1);
// The entry of the table for bits rounded to it: 1 + i/128.
constexpr const Mantissa& entry(std::uint64_t rounded) {
  return kMantissa[(rounded >> kIndexBits) - (kOne >> kIndexBits)];
}
// log2(1 + r), without the table's part, |r| <= 1/256. By pairs: short chains of operations that
// wait for each other.
template <class Number>
constexpr Number log2_near_one(Number r) {
  constexpr double k = std::numbers::log2e;
  const Number square = r * r;
  return r * (k - r * (k / 2)) + (r * square) * ((k / 3 - r * (k / 4)) + square * (k / 5));
}
}  // namespace quick_math

// REQUIRES x > 0, no denormal number. Zero gives about -1023.
[[gnu::always_inline]] constexpr double quick_log2(double x) {
  using namespace quick_math;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int32_t>(bits >> 52) - 1023;
  // The nearest of the table: mantissa = (1 + i/128) (1 + r).
  const std::uint64_t mantissa = (bits & kFraction) | kOne;
  const std::uint64_t rounded = (mantissa + kHalf) & kIndex;
  const Mantissa& near = entry(rounded);
  const double r =
      (std::bit_cast<double>(mantissa) - std::bit_cast<double>(rounded)) * near.reciprocal;
  return (exponent + near.log2) + log2_near_one(r);
}
// The logarithms of both numbers of a pair.
inline Two quick_log2(Two x) {
  using namespace quick_math;
  using Bits = std::uint64_t __attribute__((vector_size(16)));
  const auto bits = std::bit_cast<Bits>(x);
  // Bits of 2^52 + n, less 2^52 + 1023: n - 1023 without a conversion.
  const Two exponent =
      std::bit_cast<Two>((bits >> 52) | std::bit_cast<std::uint64_t>(0x1p52)) - (0x1p52 + 1023);
  const Bits mantissa = (bits & kFraction) | kOne;
  const Bits rounded = (mantissa + kHalf) & kIndex;
  const Mantissa &first = entry(rounded[0]), &second = entry(rounded[1]);
  const Two r = (std::bit_cast<Two>(mantissa) - std::bit_cast<Two>(rounded)) *
                Two{first.reciprocal, second.reciprocal};
  return (exponent + Two{first.log2, second.log2}) + log2_near_one(r);
}

// The logarithms of two numbers.
inline std::array<double, 2> quick_log2(double x, double y) {
  const Two both_of = quick_log2(Two{x, y});
  return {both_of[0], both_of[1]};
}

// Logarithms of whole numbers: a table of the small ones.
namespace quick_math {
inline constexpr std::size_t kWholes = 1024;
inline constexpr auto kLog2 = [] {
  std::array<double, kWholes> table{};
  for (std::size_t i = 1; i < kWholes; ++i) table[i] = quick_log2(static_cast<double>(i));
  table[0] = quick_log2(0.0);
  return table;
}();
}  // namespace quick_math
template <std::integral Whole>
inline double quick_log2(Whole n) {
  const auto i = static_cast<std::uint64_t>(n);
  return i < quick_math::kWholes ? quick_math::kLog2[i] : quick_log2(static_cast<double>(n));
}

// REQUIRES -700 <= x <= 700.
[[gnu::always_inline]] inline double quick_exp_within(double x) {
  constexpr double kStep = std::numbers::ln2 / quick_math::kPowers;
  // x = (k + r) kStep, |r| <= 1/2. Adding 1.5 2^52 rounds to a whole number.
  constexpr double kRound = 0x1.8p52;
  const double steps = x * (1 / kStep), k = steps + kRound - kRound, r = steps - k;
  // The series of exp(r kStep), by pairs.
  constexpr double c1 = kStep, c2 = c1 * kStep / 2, c3 = c2 * kStep / 3, c4 = c3 * kStep / 4,
                   c5 = c4 * kStep / 5;
  const double square = r * r;
  const double series = (1 + r * c1) + square * ((c2 + r * c3) + square * (c4 + r * c5));
  const auto whole = static_cast<std::int64_t>(k);
  const auto exponent = static_cast<std::uint64_t>((whole >> 6) + 1023) << 52;
  return std::bit_cast<double>(exponent) * quick_math::kPower[index(whole & 63)] * series;
}
// exp of any number; below -700 and above 700 it is exp of these.
[[gnu::always_inline]] inline double quick_exp(double x) {
  return quick_exp_within(std::clamp(x, -700.0, 700.0));
}

}  // namespace orrery
