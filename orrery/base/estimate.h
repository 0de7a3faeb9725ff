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
// sigma^2 = shared^2 + own^2, hence never negative.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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

template <class Q>
struct Estimate {
  Q value{};
  double shared = 0;
  double own = 0;
  Origin origin = Origin::kExact;

  double sigma() const { return std::hypot(shared, own); }
  Q quantile(double p) const { return value * std::exp(normal_quantile(p) * sigma()); }
  Estimate scaled(double k) const { return {value * k, shared, own, origin}; }
};

// What kind of model made a term; terms of one family share their `shared` error.
enum class Family { kGemm, kAttention, kMoe, kMla, kElementwise, kCollective, kHost, kOther };
inline constexpr std::size_t kFamilies = 8;
std::string_view to_text(Family family);

// Sum of Estimates: shared parts add linearly inside a family and in quadrature between families
// (one family's bias says nothing about another's); own parts add in quadrature.
template <class Q>
class EstimateSum {
 public:
  void add(Family family, const Estimate<Q>& e) {
    const double v = e.value.value();
    total_ += v;
    shared_[static_cast<std::size_t>(family)] += v * e.shared;
    own_squared_ += v * e.own * v * e.own;
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
  double total_ = 0;
  std::array<double, kFamilies> shared_{};
  double own_squared_ = 0;
  Origin origin_ = Origin::kExact;
};

// The larger of two estimates; the error is blended by the chance that each is the larger one.
template <class Q>
Estimate<Q> maximum(const Estimate<Q>& a, const Estimate<Q>& b) {
  if (a.value < b.value) return maximum(b, a);
  const double spread = std::hypot(a.value.value() * a.sigma(), b.value.value() * b.sigma());
  const double gap = (a.value - b.value).value();
  const double p = spread > 0 ? 0.5 * std::erfc(-gap / (spread * std::sqrt(2.0))) : 1.0;
  return {a.value, p * a.shared + (1 - p) * b.shared, p * a.own + (1 - p) * b.own,
          p > 0.99 ? a.origin : std::max(a.origin, b.origin)};
}

}  // namespace orrery
