// Laws of Estimate by simulation: an interval covers the share of draws that it claims, and a sum
// of estimates has the spread of the sum of draws of its terms.
#include "orrery/base/estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "orrery/base/random.h"

namespace orrery {
namespace estimate_law_test {

using Time = Estimate<Seconds>;

struct Term {
  Family family;
  Time time;
};

std::vector<Term> random_terms(RandomStream& random, double largest_error) {
  std::vector<Term> terms(1 + random.below(12));
  for (Term& t : terms) {
    t.family = static_cast<Family>(random.below(kFamilies));
    t.time = {milliseconds(0.01 + random.exponential()), largest_error * random.uniform(),
              largest_error * random.uniform(), Origin::kMeasured};
  }
  return terms;
}

Time total_of(const std::vector<Term>& terms) {
  EstimateSum<Seconds> sum;
  for (const Term& t : terms) sum.add(t.family, t.time);
  return sum.total();
}

// One world: each family is off by a common factor, each term by its own.
double drawn_total(const std::vector<Term>& terms, RandomStream& random) {
  double bias[kFamilies];
  for (double& b : bias) b = random.normal();
  double total = 0;
  for (const Term& t : terms) {
    total +=
        t.time.value.value() * std::exp(t.time.shared * bias[static_cast<std::size_t>(t.family)] +
                                        t.time.own * random.normal());
  }
  return total;
}

TEST(EstimateLaw, AnIntervalCoversWhatItClaims) {
  constexpr int kDraws = 100'000;
  RandomStream random(11, "coverage");
  const Time t{milliseconds(3), 0.12, 0.35, Origin::kMeasured};
  for (double p : {0.05, 0.25, 0.5, 0.75, 0.95}) {
    const double bound = t.quantile(p).value();
    int below = 0;
    for (int i = 0; i < kDraws; ++i) {
      below +=
          t.value.value() * std::exp(t.shared * random.normal() + t.own * random.normal()) <= bound;
    }
    EXPECT_NEAR(below / double{kDraws}, p, 5 * std::sqrt(p * (1 - p) / kDraws)) << p;
  }
}

// To first order in the errors, which are small here: the standard deviation of drawn sums is the
// estimate's. 20,000 draws know a deviation within 0.5 %; 3 % is six of these.
TEST(EstimateLaw, ASumHasTheSpreadOfDrawnSums) {
  RandomStream random(12, "sums");
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto terms = random_terms(random, 0.08);
    const Time total = total_of(terms);
    constexpr int kDraws = 20'000;
    double mean = 0, square = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double relative = drawn_total(terms, random) / total.value.value() - 1;
      mean += relative / kDraws;
      square += relative * relative / kDraws;
    }
    const double spread = std::sqrt(square - mean * mean);
    EXPECT_NEAR(spread / total.sigma(), 1, 0.03) << terms.size() << " terms";
  }
}

TEST(EstimateLaw, TheIntervalOfASumCoversDrawnSums) {
  RandomStream random(13, "interval");
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto terms = random_terms(random, 0.1);
    const Time total = total_of(terms);
    const double low = total.quantile(0.05).value(), high = total.quantile(0.95).value();
    constexpr int kDraws = 20'000;
    int covered = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double drawn = drawn_total(terms, random);
      covered += drawn >= low && drawn <= high;
    }
    EXPECT_NEAR(covered / double{kDraws}, 0.9, 0.02);
  }
}

RC_GTEST_PROP(EstimateLaw, ASumDoesNotDependOnTheOrderOrTheGrouping, (std::uint64_t seed)) {
  RandomStream random(seed, "order");
  auto terms = random_terms(random, 0.5);
  const Time forward = total_of(terms);
  std::vector<Term> backward(terms.rbegin(), terms.rend());
  const Time reversed = total_of(backward);
  RC_ASSERT(std::abs(forward.value / reversed.value - 1) < 1e-12);
  RC_ASSERT(std::abs(forward.sigma() - reversed.sigma()) < 1e-12);
}

RC_GTEST_PROP(EstimateLaw, ASumIsNoLessCertainThanItsWorstTerm, (std::uint64_t seed)) {
  RandomStream random(seed, "worst");
  const auto terms = random_terms(random, 0.5);
  double worst = 0;
  for (const Term& t : terms) worst = std::max(worst, t.time.sigma());
  RC_ASSERT(total_of(terms).sigma() <= worst + 1e-12);
}

RC_GTEST_PROP(EstimateLaw, RepeatingIsAddingWithinAFamilyWhenAllErrorIsShared,
              (std::uint64_t seed)) {
  RandomStream random(seed, "repeat");
  const Time t{milliseconds(random.exponential() + 0.1), random.uniform(), 0, Origin::kFitted};
  const auto n = 1 + random.below(50);
  EstimateSum<Seconds> sum;
  for (std::uint64_t i = 0; i < n; ++i) sum.add(Family::kGemm, t);
  const Time repeated = t.scaled(static_cast<double>(n));
  RC_ASSERT(std::abs(sum.total().value / repeated.value - 1) < 1e-12);
  RC_ASSERT(std::abs(sum.total().sigma() - repeated.sigma()) < 1e-12);
}

// Two ways through the same world: a part of the error is common to both. 0.02: the terms are
// log-normal, and only their deviations are taken.
TEST(EstimateLaw, TheIntervalOfAMaximumHoldsDrawnMaxima) {
  RandomStream random(14, "maxima");
  for (int repeat = 0; repeat < 30; ++repeat) {
    const double common = 0.15 * random.uniform();
    const Time a{Seconds(1), common, 0.15 * random.uniform(), Origin::kMeasured};
    const Time b{Seconds(0.5 + random.uniform()), common, 0.25 * random.uniform(),
                 Origin::kMeasured};
    const Time m = maximum(a, b, common * common * a.value.value() * b.value.value());
    const double low = m.quantile(0.05).value(), high = m.quantile(0.95).value();
    constexpr int kDraws = 20'000;
    int covered = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double both = common * random.normal();
      const double drawn = std::max(a.value.value() * std::exp(both + a.own * random.normal()),
                                    b.value.value() * std::exp(both + b.own * random.normal()));
      covered += drawn >= low && drawn <= high;
    }
    EXPECT_NEAR(covered / double{kDraws}, 0.9, 0.03)
        << b.value.value() << " of " << common << ", " << a.own << " and " << b.own;
  }
}

RC_GTEST_PROP(EstimateLaw, TheMaximumIsSymmetricAndNotBelowEither, (std::uint64_t seed)) {
  RandomStream random(seed, "maximum");
  auto draw = [&] {
    return Time{milliseconds(random.exponential()), random.uniform(), random.uniform(),
                Origin::kMeasured};
  };
  const Time a = draw(), b = draw(), m = maximum(a, b), n = maximum(b, a);
  RC_ASSERT(m.value == std::max(a.value, b.value));
  RC_ASSERT(m.value == n.value && m.shared == n.shared && m.own == n.own);
  RC_ASSERT(m.sigma() * m.value.value() <=
            std::hypot(a.sigma() * a.value.value(), b.sigma() * b.value.value()) * (1 + 1e-12));
}

}  // namespace estimate_law_test
}  // namespace orrery
