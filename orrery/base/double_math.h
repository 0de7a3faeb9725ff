// The policy with which Boost.Math is called: it computes in double. Boost's default, long double,
// has other digits on every kind of processor.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace orrery {

using DoubleMath = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace orrery
