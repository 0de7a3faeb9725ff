#include "orrery/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace orrery {
namespace random_test {

using Words = std::array<std::uint32_t, 4>;

// Random123 1.14, tests/kat_vectors, "philox4x32 10".
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Fowler, Noll, Vo: the published test values of FNV-1a, 64 bits.
TEST(HashText, PublishedValues) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8ull);
}

TEST(RandomStream, TheSameNumberOnAnyThreadAndInAnyOrder) {
  RandomStream stream(7, "arrivals");
  std::vector<std::uint64_t> in_order(100), by_thread(100);
  for (auto& v : in_order) v = stream.bits();
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&by_thread, t] {
      RandomStream own(7, "arrivals");
      for (std::size_t i = 100 - 4 + t; i < 100; i -= 4) {
        own.seek(i);
        by_thread[i] = own.bits();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(in_order, by_thread);
}

TEST(RandomStream, NamesAndSeedsMakeOtherStreams) {
  EXPECT_NE(RandomStream(7, "arrivals").bits(), RandomStream(7, "lengths").bits());
  EXPECT_NE(RandomStream(7, "arrivals").bits(), RandomStream(8, "arrivals").bits());
  EXPECT_NE(RandomStream(7, "arrivals").bits(), RandomStream(7ull | 1ull << 32, "arrivals").bits());
}

// Means and variances of n draws against their standard errors, five of them.
struct Moments {
  double mean = 0, square = 0;
};
template <class Draw>
Moments moments(int n, Draw draw) {
  Moments m;
  for (int i = 0; i < n; ++i) {
    const double v = draw();
    m.mean += v / n;
    m.square += v * v / n;
  }
  return m;
}

TEST(RandomStream, MomentsOfTheDistributions) {
  constexpr int kDraws = 200'000;
  const double root = std::sqrt(kDraws);
  RandomStream s(1, "moments");
  const Moments u = moments(kDraws, [&] { return s.uniform(); });
  EXPECT_NEAR(u.mean, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(u.square, 1.0 / 3, 5 * std::sqrt(4.0 / 45) / root);
  const Moments z = moments(kDraws, [&] { return s.normal(); });
  EXPECT_NEAR(z.mean, 0, 5 / root);
  EXPECT_NEAR(z.square, 1, 5 * std::sqrt(2.0) / root);
  const Moments e = moments(kDraws, [&] { return s.exponential(); });
  EXPECT_NEAR(e.mean, 1, 5 / root);
  EXPECT_NEAR(e.square, 2, 5 * std::sqrt(20.0) / root);
}

TEST(RandomStream, RangesHold) {
  RandomStream s(3, "ranges");
  for (int i = 0; i < 100'000; ++i) {
    const double u = s.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_TRUE(std::isfinite(s.normal()));
    ASSERT_GE(s.exponential(), 0);
    ASSERT_LT(s.below(3), 3u);
  }
  EXPECT_EQ(s.below(1), 0u);
}

// Each of six values is as likely as the others: chi-square with 5 degrees of freedom exceeds 30
// by chance once in 10^5.
TEST(RandomStream, BelowASmallNumberIsEven) {
  RandomStream s(4, "die");
  constexpr int kDraws = 60'000;
  std::array<int, 6> seen{};
  for (int i = 0; i < kDraws; ++i) ++seen[s.below(6)];
  double chi_square = 0;
  for (int n : seen) chi_square += (n - kDraws / 6.0) * (n - kDraws / 6.0) / (kDraws / 6.0);
  EXPECT_LT(chi_square, 30);
}

// 3 * 2^62 does not divide 2^64: taken modulo, a number below 2^62 would come with chance 1/2, not
// 1/3.
TEST(RandomStream, BelowHasNoBias) {
  RandomStream s(5, "below");
  constexpr int kDraws = 30'000;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) low += s.below(3ull << 62) < 1ull << 62 ? 1 : 0;
  EXPECT_NEAR(low / double{kDraws}, 1.0 / 3, 5 * std::sqrt(2.0 / 9 / kDraws));
}

}  // namespace random_test
}  // namespace orrery
