// For the innermost formulas.
//
// log2 and exp: a table and a short series each, a few nanoseconds where the library takes ten. The
// same digits on every machine (the library's differ with the processor's instructions). Relative
// error below 1e-13; log2 of a power of two is exact.
//
// Two: a pair of numbers that the processor computes with at once. Operators work on each; with a
// double, on it and each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>

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
inline Two minimum(Two a, Two b) { return a < b ? a : b; }

// Of 0 <= x < 2^51; beyond, x within its rounding error.
inline Two ceiling(Two x) {
  const Two nearest = x + 0x1.8p52 - 0x1.8p52;  // no digits after the point are left
  return nearest + (nearest < x ? Two{1, 1} : Two{0, 0});
}

// REQUIRES x > 0, no denormal number. Zero gives about -1023.
inline double quick_log2(double x) {
  constexpr std::uint64_t kOne = 0x3FF0'0000'0000'0000, kFraction = 0x000F'FFFF'FFFF'FFFF;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int32_t>(bits >> 52) - 1023;
  const double mantissa = std::bit_cast<double>((bits & kFraction) | kOne);
  // The nearest of the table: mantissa = (1 + i/128) (1 + r), |r| <= 1/256.
  const std::size_t i = ((bits & kFraction) + (std::uint64_t{1} << 44)) >> 45;
  const quick_math::Mantissa& near = quick_math::kMantissa[i];
  const double r = (mantissa - (1 + static_cast<double>(i) * 0x1p-7)) * near.reciprocal;
  // The series by pairs: short chains of operations that wait for each other.
  const double square = r * r;
  const double ln = r - square * ((1.0 / 2 - r * (1.0 / 3)) + square * (1.0 / 4 - r * (1.0 / 5)));
  return exponent + (near.log2 + ln * std::numbers::log2e);
}

// Beyond -700 and 700 as there.
inline double quick_exp(double x) {
  constexpr double kPerUnit = quick_math::kPowers * std::numbers::log2e;
  x = std::clamp(x, -700.0, 700.0);
  // x = k ln2/64 + r, |r| <= ln2/128. Adding 1.5 2^52 rounds to a whole number.
  constexpr double kRound = 0x1.8p52;
  const double k = x * kPerUnit + kRound - kRound;
  const double r = x - k * (1 / kPerUnit);
  const double square = r * r;
  const double series =
      (1 + r) + square * ((1.0 / 2 + r * (1.0 / 6)) + square * (1.0 / 24 + r * (1.0 / 120)));
  const auto whole = static_cast<std::int64_t>(k);
  const auto exponent = static_cast<std::uint64_t>((whole >> 6) + 1023) << 52;
  return std::bit_cast<double>(exponent) *
         (quick_math::kPower[static_cast<std::size_t>(whole & 63)] * series);
}

}  // namespace orrery
