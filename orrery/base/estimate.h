// A predicted quantity: a value, how uncertain it is, and where it comes from.
//
// The uncertainty is relative (one standard deviation of the logarithm) and has two parts:
//   shared  the error that all predictions of one family have in common (a GEMM model that is 5 %
//   slow
//           on this GPU is 5 % slow on every layer): adds linearly when terms are summed;
//   own     the error of this one prediction, independent of all others: adds in quadrature.
// Repeating one prediction n times (`scaled`) makes n times the value with the same relative error:
// the n calls are the same kernel, not n independent draws.
//
// Intervals are log-normal around the value: quantile(p) = value * exp(z_p * sigma) with
// sigma^2 = shared^2 + own^2, hence never negative. The error of a single kernel has heavier tails
// (Tails); those of a sum of many are taken as normal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "orrery/base/units.h"

namespace orrery {

// Where a value comes from, strongest first. A sum has the weakest origin of its terms.
enum class Origin {
  kExact,        // counted from dimensions: bytes of weights, FLOPs
  kMeasured,     // fitted to a sweep of this kernel class on this GPU
  kFitted,       // a constant fitted on end-to-end or layer measurements of this engine
  kTransferred,  // fitted on other GPUs, carried over by this GPU's data sheet
  kAnalytical,   // physics and data sheet alone
};
std::string_view to_text(Origin origin);

// Standard normal quantile, p in (0, 1); relative error below 1.2e-9 (Acklam's rational
// approximation).
double normal_quantile(double p);

// Student's t with 3 degrees of freedom, scaled so that sigma is the geometric mean of what the
// median and the 90 % point of the absolute errors ask for, as it is for a normal distribution.
// Predicted kernels are as far off: the 90 % point of their errors is 3.4 times the median on rows
// that no surface was fitted on, 3.2 to 3.7 on other GPUs than the surface's (data/kernels); 3.1
// here, 2.4 for a normal distribution.
double heavy_quantile(double p);

// The distribution of an error.
enum class Tails { kNormal, kHeavy };

template <class Q>
struct Estimate {
  Q value{};
  double shared = 0;
  double own = 0;
  Origin origin = Origin::kExact;
  Tails tails = Tails::kNormal;

  double sigma() const { return std::hypot(shared, own); }
  // In sigmas.
  double deviation(double p) const {
    return tails == Tails::kHeavy ? heavy_quantile(p) : normal_quantile(p);
  }
  Q quantile(double p) const { return value * std::exp(deviation(p) * sigma()); }
  Estimate scaled(double k) const { return {value * k, shared, own, origin, tails}; }
};

// What kind of model made a term; terms of one family share their `shared` error.
enum class Family { kGemm, kAttention, kMoe, kMla, kElementwise, kCollective, kHost, kOther };
inline constexpr std::size_t kFamilies = 8;
std::string_view to_text(Family family);

// Sum of Estimates: shared parts add linearly inside a family and in quadrature between families
// (one family's bias says nothing about another's); own parts add in quadrature, those of the same
// kernel linearly.
template <class Q>
class EstimateSum {
 public:
  // `call`: what one call takes, of terms that are repeated calls of a kernel: terms of the same
  // are taken as calls of the same kernel. Zero: the term is like no other.
  void add(Family family, const Estimate<Q>& e, Q call = Q(0)) {
    const double v = e.value.value();
    total_ += v;
    shared_[static_cast<std::size_t>(family)] += v * e.shared;
    own_squared_ += v * e.own * v * e.own;
    if (call > Q(0)) {
      double& same = own_of(call.value());
      own_squared_ += 2 * same * v * e.own;  // (same + own)^2 in place of same^2
      same += v * e.own;
    }
    origin_ = std::max(origin_, e.origin);
  }
  // An additional error of the whole, relative to the sum so far (a composition's own error).
  Estimate<Q> total(double composition_error = 0) const {
    if (total_ == 0) return {Q(0), 0, 0, origin_};
    double shared_squared = 0;
    for (double s : shared_) shared_squared += s * s;
    return {Q(total_), std::hypot(std::sqrt(shared_squared) / total_, composition_error),
            std::sqrt(own_squared_) / total_, origin_};
  }

 private:
  // The own errors of the calls that take `call`: an open hash table. Where it is full, of another
  // kernel, at worst counting two kernels as one.
  double& own_of(double call) {
    std::size_t slot = std::bit_cast<std::uint64_t>(call) * 0x9E3779B97F4A7C15u >> 58;
    for (std::size_t tried = 0; tried < kKernels && calls_[slot] != 0 && calls_[slot] != call;
         ++tried)
      slot = (slot + 1) % kKernels;
    calls_[slot] = call;
    return owns_[slot];
  }

  static constexpr std::size_t kKernels = 64;
  std::array<double, kKernels> calls_{}, owns_{};
  double total_ = 0;
  std::array<double, kFamilies> shared_{};
  double own_squared_ = 0;
  Origin origin_ = Origin::kExact;
};

// The larger of two estimates whose errors have this covariance (in the unit's square). The value
// is the larger of the values; the error is the root mean square deviation of max(A, B) from it, A
// and B taken as normal (Clark 1961, "The greatest of a finite set of random variables"): with
// A's value g above B's and theta the deviation of A - B,
//   E = var A Phi(g / theta) + (var B + g^2) Phi(-g / theta) - g theta phi(g / theta)
template <class Q>
Estimate<Q> maximum(const Estimate<Q>& a, const Estimate<Q>& b, double covariance = 0) {
  if (a.value < b.value) return maximum(b, a, covariance);
  const double spread_a = a.value.value() * a.sigma(), spread_b = b.value.value() * b.sigma();
  const double theta =
      std::sqrt(std::max(0.0, spread_a * spread_a + spread_b * spread_b - 2 * covariance));
  const double gap = (a.value - b.value).value();
  constexpr double kFar = 5;
  if (gap >= kFar * theta) return a;
  const double x = gap / theta, p = 0.5 * std::erfc(-x / std::sqrt(2.0));
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
  const double square =
      spread_a * spread_a * p + (spread_b * spread_b + gap * gap) * (1 - p) - gap * theta * density;
  const double shared = p * a.shared + (1 - p) * b.shared, own = p * a.own + (1 - p) * b.own;
  const double scale = std::sqrt(square) / a.value.value() / std::hypot(shared, own);
  return {a.value, shared * scale, own * scale, p > 0.99 ? a.origin : std::max(a.origin, b.origin)};
}

}  // namespace orrery
