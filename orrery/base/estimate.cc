#include "orrery/base/estimate.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "orrery/base/index.h"
#include "orrery/base/random.h"

namespace orrery {

std::string_view to_text(Origin origin) {
  switch (origin) {
    case Origin::kExact:
      return "exact";
    case Origin::kMeasured:
      return "measured";
    case Origin::kFitted:
      return "fitted";
    case Origin::kTransferred:
      return "transferred";
    case Origin::kAnalytical:
      return "analytical";
  }
  return "";
}

std::string_view to_text(Family family) {
  static constexpr std::array<std::string_view, kFamilies> kNames = {
      "gemm", "attention", "moe", "mla", "elementwise", "collective", "host", "other"};
  return kNames[index(family)];
}

// P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function",
// 2003.
double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<double, 6> a = {-3.969683028665376e+01, 2.209460984245205e+02,
                                       -2.759285104469687e+02, 1.383577518672690e+02,
                                       -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 5> b = {-5.447609879822406e+01, 1.615858368580409e+02,
                                       -1.556989798598866e+02, 6.680131188771972e+01,
                                       -1.328068155288572e+01};
  constexpr std::array<double, 6> c = {-7.784894002430293e-03, -3.223964580411365e-01,
                                       -2.400758277161838e+00, -2.549732539343734e+00,
                                       4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 4> d = {7.784695709041462e-03, 3.224671290700398e-01,
                                       2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double kLow = 0.02425;
  if (p < kLow || p > 1 - kLow) {
    const double tail = p < kLow ? p : 1 - p;
    const double q = std::sqrt(-2 * std::log(tail));
    const double x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                     ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    return p < kLow ? x : -x;
  }
  const double q = p - 0.5, r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double heavy_quantile(double p) {
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  static const boost::math::students_t_distribution<double, DoubleMath> kT(3);
  static const double kScale =
      std::sqrt(normal_quantile(0.75) * normal_quantile(0.95) /
                (boost::math::quantile(kT, 0.75) * boost::math::quantile(kT, 0.95)));
  return kScale * boost::math::quantile(kT, p);
}

}  // namespace orrery
