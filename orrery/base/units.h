// Physical quantities as distinct types, so that seconds are never added to bytes.
//
// A Quantity carries the exponents of four base dimensions (second, byte, flop, joule); products
// and quotients follow: Bytes / BytesPerSecond is Seconds, Watts * Seconds is Joules. A product
// without a dimension is a plain double. Values are held in base units (s, B, FLOP, J), never
// scaled.
//
//   Seconds t = Bytes(13.5e9) / BytesPerSecond(2.039e12);
//   double ms = t / milliseconds(1);
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace orrery {

template <int S, int B, int F, int J>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  // The number in base units: seconds, bytes, FLOPs, joules and their quotients.
  constexpr double value() const { return value_; }

  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value_ == b.value_; }
  // Not one operator <=>, from which compilers make three comparisons and branches.
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value_ >= b.value_; }
  constexpr Quantity& operator+=(Quantity o) { return value_ += o.value_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value_ -= o.value_, *this; }
  constexpr Quantity& operator*=(double k) { return value_ *= k, *this; }
  constexpr Quantity& operator/=(double k) { return value_ /= k, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, double k) { return a *= k; }
  friend constexpr Quantity operator*(double k, Quantity a) { return a *= k; }
  friend constexpr Quantity operator/(Quantity a, double k) { return a /= k; }

 private:
  double value_ = 0;
};

template <int S, int B, int F, int J, int S2, int B2, int F2, int J2>
constexpr auto operator*(Quantity<S, B, F, J> a, Quantity<S2, B2, F2, J2> b) {
  if constexpr (S + S2 == 0 && B + B2 == 0 && F + F2 == 0 && J + J2 == 0) {
    return a.value() * b.value();
  } else {
    return Quantity<S + S2, B + B2, F + F2, J + J2>(a.value() * b.value());
  }
}

template <int S, int B, int F, int J, int S2, int B2, int F2, int J2>
constexpr auto operator/(Quantity<S, B, F, J> a, Quantity<S2, B2, F2, J2> b) {
  if constexpr (S == S2 && B == B2 && F == F2 && J == J2) {
    return a.value() / b.value();
  } else {
    return Quantity<S - S2, B - B2, F - F2, J - J2>(a.value() / b.value());
  }
}

using Seconds = Quantity<1, 0, 0, 0>;
using Hertz = Quantity<-1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;  // floating-point (or integer) operations; a multiply-add is 2
using FlopsPerSecond = Quantity<-1, 0, 1, 0>;
using FlopsPerByte = Quantity<0, -1, 1, 0>;
using Joules = Quantity<0, 0, 0, 1>;
using Watts = Quantity<-1, 0, 0, 1>;

constexpr Seconds seconds(double x) { return Seconds(x); }
constexpr Seconds milliseconds(double x) { return Seconds(x / 1e3); }
constexpr Seconds microseconds(double x) { return Seconds(x / 1e6); }
constexpr Bytes gigabytes(double x) { return Bytes(x * 1e9); }
constexpr Bytes gibibytes(double x) { return Bytes(x * 1073741824.0); }

// The dimension that a unit in a text measures.
enum class Dimension {
  kNone,
  kTime,
  kFrequency,
  kBytes,
  kBandwidth,
  kFlops,
  kFlopRate,
  kEnergy,
  kPower
};

template <class Q>
constexpr Dimension kDimensionOf = Dimension::kNone;
template <>
inline constexpr Dimension kDimensionOf<Seconds> = Dimension::kTime;
template <>
inline constexpr Dimension kDimensionOf<Hertz> = Dimension::kFrequency;
template <>
inline constexpr Dimension kDimensionOf<Bytes> = Dimension::kBytes;
template <>
inline constexpr Dimension kDimensionOf<BytesPerSecond> = Dimension::kBandwidth;
template <>
inline constexpr Dimension kDimensionOf<Flops> = Dimension::kFlops;
template <>
inline constexpr Dimension kDimensionOf<FlopsPerSecond> = Dimension::kFlopRate;
template <>
inline constexpr Dimension kDimensionOf<Joules> = Dimension::kEnergy;
template <>
inline constexpr Dimension kDimensionOf<Watts> = Dimension::kPower;

// Factor from `unit` to the base unit of `dimension`, or nothing if it is no unit of that
// dimension. Decimal and binary prefixes are kept apart: GB = 1e9, GiB = 2^30. Units are
// case-sensitive, but for B/s where GBps is also read. b (bit) is read in rates only: Gb/s, Gbit/s,
// Gbps.
std::optional<double> unit_factor(Dimension dimension, std::string_view unit);

// An example of how a quantity of this dimension is written, for error messages: "80 GiB".
std::string_view unit_example(Dimension dimension);

// The base unit's name: "s", "B", "B/s", "FLOP", "FLOP/s", "J", "W", "Hz", "".
std::string_view base_unit(Dimension dimension);

// Reads "3.35 TB/s" or "80GiB" as a number of base units; nothing if the text is no finite number
// followed by a unit of that dimension (a bare number is not read).
std::optional<double> parse_quantity(Dimension dimension, std::string_view text);

// The shortest text, prefixes of the unit included, that parse_quantity reads as exactly this many
// base units: "71 us", "80 GiB".
std::string exact_text(Dimension dimension, double value);

// Human-readable text with a fitting prefix and three significant digits: "13.5 GB", "6.61 ms".
std::string to_text(Seconds t);
std::string to_text(Bytes b);
std::string to_text(BytesPerSecond r);
std::string to_text(FlopsPerSecond r);

// A whole number as a floating-point one; exact up to 2^53.
template <std::integral N>
constexpr double real(N n) {
  return static_cast<double>(n);
}

}  // namespace orrery
