// A predicted quantity: a value, its uncertainty, and where it comes from.
//
// The uncertainty is relative, one standard deviation of the logarithm, and has two parts:
//
//   shared  the error that all predictions of one family have in common. A GEMM model that is 5 %
//           slow on this GPU is 5 % slow on every layer. It adds linearly in a sum.
//   own     the error of this one prediction, independent of all others. It adds in quadrature.
//
// Estimates are combined by three laws:
//
//   scaled       n calls of one kernel: n times the value, the same relative error
//   EstimateSum  terms of different kernels and families: own parts in quadrature
//   plus         two times of the same kernels: both parts linear
//
// Intervals are log-normal around the value: quantile(p) = value * exp(z_p * sigma) with
// sigma^2 = shared^2 + own^2, hence never negative. The error of a single kernel has heavier tails
// (Tails); the error of a sum of many kernels is taken as normal.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/index.h"
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

// Standard normal quantile, p in (0, 1), by Acklam's rational approximation; relative error below
// 1.2e-9.
double normal_quantile(double p);

// Quantile of Student's t with 3 degrees of freedom, p in (0, 1), scaled so that sigma means the
// same as for a normal distribution: the geometric mean of the sigmas that the median and the 90 %
// point of the absolute errors ask for.
//
// Errors of predicted kernels have such tails. The 90 % point of their absolute errors is 3.4 times
// the median on rows that no surface was fitted on, and 3.2 to 3.7 times on other GPUs than the
// surface's (docs/kernels.md); 3.1 times for this distribution, 2.4 for a normal one.
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
  // Quantile of the error, in sigmas.
  double deviation(double p) const {
    return tails == Tails::kHeavy ? heavy_quantile(p) : normal_quantile(p);
  }
  Q quantile(double p) const { return value * std::exp(deviation(p) * sigma()); }
  Estimate scaled(double k) const { return {value * k, shared, own, origin, tails}; }
};

// The kind of model that predicted a term. Terms of one family have their `shared` error in common.
enum class Family { kGemm, kAttention, kMoe, kMla, kElementwise, kCollective, kHost, kOther };
inline constexpr std::size_t kFamilies = 8;
std::string_view to_text(Family family);

// Sum of Estimates. Shared parts add linearly inside a family and in quadrature between families,
// because the bias of one family says nothing about that of another. Own parts add in quadrature,
// those of calls of the same kernel linearly.
template <class Q>
class EstimateSum {
 public:
  static constexpr std::size_t kNoKernel = static_cast<std::size_t>(-1);

  // `kernel`: number of the kernel that the term is calls of, counted from 0 by the caller. Terms
  // with the same number have the same own error. kNoKernel: the term shares its own error with
  // none.
  void add(Family family, const Estimate<Q>& e, std::size_t kernel = kNoKernel) {
    const double v = e.value.value();
    total_ += v;
    shared_[index(family)] += v * e.shared;
    own_squared_ += v * e.own * v * e.own;
    if (kernel != kNoKernel) {
      double& same = own_of(kernel);
      own_squared_ += 2 * same * v * e.own;  // (same + own)^2 in place of same^2
      same += v * e.own;
    }
    origin_ = std::max(origin_, e.origin);
  }
  // The sum. `composition_error`: an additional relative error of the whole, that of adding up.
  Estimate<Q> total(double composition_error = 0) const {
    if (total_ == 0) return {Q(0), 0, 0, origin_};
    double shared_squared = 0;
    for (double s : shared_) shared_squared += s * s;
    return {Q(total_), std::hypot(std::sqrt(shared_squared) / total_, composition_error),
            std::sqrt(own_squared_) / total_, origin_};
  }

 private:
  // Absolute own error of the terms of a kernel. Most sums have few kernels: those need no memory
  // from the heap.
  double& own_of(std::size_t kernel) {
    if (kernel < kFew) return few_[kernel];
    if (kernel - kFew >= more_.size()) more_.resize(kernel - kFew + 1);
    return more_[kernel - kFew];
  }

  static constexpr std::size_t kFew = 64;
  std::array<double, kFew> few_{};
  std::vector<double> more_;
  double total_ = 0;
  std::array<double, kFamilies> shared_{};
  double own_squared_ = 0;
  Origin origin_ = Origin::kExact;
};

// Sum of two quantities that the same kernels make up, such as the times of two steps: their errors
// are those of one model, so that shared and own parts both add linearly.
template <class Q>
Estimate<Q> plus(const Estimate<Q>& a, const Estimate<Q>& b) {
  const double total = (a.value + b.value).value();
  if (total == 0) return a;
  const double wa = a.value.value() / total, wb = b.value.value() / total;
  return {a.value + b.value, wa * a.shared + wb * b.shared, wa * a.own + wb * b.own,
          std::max(a.origin, b.origin)};
}

// The larger of two estimates A and B whose errors have this covariance (in the square of the
// unit). The value is the larger of the two values. The error is the root mean square deviation of
// max(A, B) from it, with A and B taken as normal (Clark 1961, "The greatest of a finite set of
// random variables"). With g the value of A less that of B, and theta the deviation of A - B:
//
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
