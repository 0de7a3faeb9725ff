#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/serving/cluster/gap_histogram.h"
#include "orrery/serving/engine/held_time.h"
#include "orrery/serving/requests/load.h"

namespace orrery {
namespace load_test {

std::vector<double> drawn(const char* text, int n = 20001) {
  const Lengths l = Lengths::parse(text);
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(l.at((i + 0.5) / n));
  return out;
}

SimTime ms(std::int64_t n) { return {n * 1'000'000'000}; }

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

TEST(Lengths, OneOfSeveralIsEquallyOften) {
  const Lengths l = Lengths::parse("128 | 512|1024");
  EXPECT_EQ(l.at(0.0), 128);
  EXPECT_EQ(l.at(0.34), 512);
  EXPECT_EQ(l.at(0.999), 1024);
  EXPECT_DOUBLE_EQ(l.mean(), 1664.0 / 3);
}

TEST(Lengths, UniformReachesBothEnds) {
  const Lengths l = Lengths::parse("uniform(3, 5)");
  EXPECT_EQ(l.at(0), 3);
  EXPECT_EQ(l.at(0.5), 4);
  EXPECT_EQ(l.at(0.9999), 5);
}

TEST(Lengths, LognormalHasItsMeanAndMedian) {
  const std::vector<double> x = drawn("lognormal(1000, 0.8)");
  EXPECT_NEAR(mean(x), 1000, 5);
  // The median of a lognormal distribution is its mean times exp(-sigma^2/2).
  EXPECT_NEAR(quantile(x, 0.5), 1000 * std::exp(-0.32), 1);
}

TEST(Lengths, ZipfFavoursTheShortest) {
  const std::vector<double> x = drawn("zipf(10, 12, 1)");
  // Weights 1, 1/2, 1/3.
  const double share = static_cast<double>(std::count(x.begin(), x.end(), 10.0)) / 20001;
  EXPECT_NEAR(share, 6.0 / 11, 1e-3);
  EXPECT_NEAR(Lengths::parse("zipf(10, 12, 1)").mean(), mean(x), 1e-3);
}

TEST(Lengths, MalformedTextIsRefused) {
  for (const char* text : {"", "0", "1.5", "-3", "uniform(5, 3)", "uniform(1)", "lognormal(0, 1)",
                           "zipf(1, 2)", "nan", "1e99", "uniform(1, 2", "normal(1, 2)", "12 13"}) {
    EXPECT_THROW(Lengths::parse(text), InputError) << text;
  }
}

TEST(Lengths, RefusalsAreShortAndPrintable) {
  for (const std::string& text : {std::string("5\x11=8 2|12"), std::string(9000, 'x'),
                                  std::string("uniform(2, 1\n)"), "1.5" + std::string(9000, '0')}) {
    try {
      Lengths::parse(text);
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      const std::string message = e.what();
      EXPECT_LT(message.size(), 300u);
      EXPECT_EQ(message.find_first_of("\x11\n"), message.npos);
    }
  }
}

using Keys = std::vector<std::pair<const char*, const char*>>;
ArrivalParameters with(const char* kind, double rate, const Keys& keys) {
  ArrivalParameters p{rate, {}};
  for (const auto& [key, value] : keys) set_arrival_parameter(p.own, kind, key, value);
  return p;
}

// Mean and coefficient of variation of the gaps.
std::pair<double, double> gaps(const char* kind, ArrivalParameters p, int n = 40000) {
  const auto process = make_arrivals(kind, p);
  RandomStream random(7, "test");
  double now = 0, sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double next = process->next(now, random), gap = next - now;
    EXPECT_GE(gap, 0);
    sum += gap, squares += gap * gap;
    now = next;
  }
  const double m = sum / n;
  return {m, std::sqrt(squares / n - m * m) / m};
}

TEST(Arrivals, PoissonGapsAreAsSpreadAsTheirMean) {
  const auto [mean, cv] = gaps("poisson", {4, {}});
  EXPECT_NEAR(mean, 0.25, 0.005);
  EXPECT_NEAR(cv, 1, 0.02);
}

TEST(Arrivals, BurstinessSetsTheSpread) {
  // A gamma distribution of shape 1/4 varies by 1/sqrt(1/4) = 2 times its mean.
  const auto [mean, cv] = gaps("gamma", with("gamma", 4, {{"burstiness", "0.25"}}));
  EXPECT_NEAR(mean, 0.25, 0.01);
  EXPECT_NEAR(cv, 2, 0.1);
}

TEST(Arrivals, EvenGapsDoNotVary) {
  const auto [mean, cv] = gaps("even", {4, {}}, 100);
  EXPECT_NEAR(mean, 0.25, 1e-12);
  EXPECT_NEAR(cv, 0, 1e-6);
}

TEST(Arrivals, RampDoublesItsRate) {
  const auto process =
      make_arrivals("ramp", with("ramp", 10, {{"end_rate", "20"}, {"period", "1000 s"}}));
  RandomStream random(1, "test");
  int early = 0, late = 0;
  for (double now = 0; now < 2000;) {
    now = process->next(now, random);
    early += now < 100;
    late += now >= 1900 && now < 2000;
  }
  EXPECT_NEAR(early, 100 * 10.5, 4 * std::sqrt(1050));  // the rate rises from 10 to 11 there
  EXPECT_NEAR(late, 2000, 4 * std::sqrt(2000));
}

TEST(Arrivals, DiurnalPeaksAQuarterIntoItsPeriod) {
  const auto process =
      make_arrivals("diurnal", with("diurnal", 10, {{"period", "400 s"}, {"amplitude", "0.8"}}));
  RandomStream random(1, "test");
  int peak = 0, trough = 0;
  for (double now = 0; now < 4000;) {
    now = process->next(now, random);
    const double phase = std::fmod(now, 400) / 400;
    peak += phase > 0.2 && phase < 0.3;
    trough += phase > 0.7 && phase < 0.8;
  }
  // 400 s each at about 18 and 2 requests a second.
  EXPECT_NEAR(peak, 400 * 17.9, 400);
  EXPECT_NEAR(trough, 400 * 2.1, 150);
}

TEST(Arrivals, UnknownKindNamesTheNearest) {
  try {
    make_arrivals("poison", {});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("'poisson'"), std::string::npos) << e.what();
  }
}

TEST(Load, TheRateLeavesLengthsAsTheyAre) {
  LoadSpec spec;
  spec.requests = 50;
  spec.input = Lengths::parse("uniform(1, 1000)");
  spec.output = Lengths::parse("lognormal(100, 1)");
  const RequestLoad slow = make_load(spec);
  spec.parameters.rate = 10;
  const RequestLoad fast = make_load(spec);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(slow.requests[i].input, fast.requests[i].input);
    EXPECT_EQ(slow.requests[i].output, fast.requests[i].output);
    // Common random numbers: the same arrivals ten times as fast.
    EXPECT_NEAR(slow.requests[i].arrival.seconds(), 10 * fast.requests[i].arrival.seconds(), 1e-9);
  }
}

TEST(Load, PromptsOfAGroupShareTheirPrefixIds) {
  LoadSpec spec;
  spec.requests = 100;
  spec.input = Lengths::parse("10");
  spec.shared_prefix = 64;
  spec.prefix_groups = 2;
  const RequestLoad load = make_load(spec);
  std::set<std::uint64_t> firsts;
  for (const Request& r : load.requests) {
    EXPECT_EQ(r.input, 65);
    ASSERT_EQ(r.ids, 4u);
    firsts.insert(load.ids[r.first_id]);
  }
  EXPECT_EQ(firsts.size(), 2u);
}

TEST(GapHistogram, QuantilesAreWithinABucket) {
  GapHistogram h;
  std::vector<double> x;
  for (int i = 1; i <= 9999; ++i) {
    const double s = 1e-3 * std::pow(1.0007, i);
    x.push_back(s);
    h.add(sim_seconds(s));
  }
  for (double p : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0})
    EXPECT_NEAR(h.quantile(p).value() / quantile(x, p), 1, 0.004) << p;
  EXPECT_NEAR(h.mean().value() / mean(x), 1, 1e-9);
  EXPECT_NEAR(h.largest().value(), x.back(), 1e-9);
}

// Gaps of consecutive steps, most of which fall into one bucket, are counted as one by one.
TEST(GapHistogram, OfASpanIsThatOfItsGaps) {
  GapHistogram together, one_by_one;
  std::int64_t gap = 3;
  for (int span = 0; span < 100; ++span) {
    std::vector<SimTime> gaps;
    SimTime sum;
    for (int i = 0; i < span % 7; ++i) {
      gap = i % 50 == 0 ? gap * 3 + 1 : gap + gap / 900 + 1;
      gaps.push_back({gap %= 400'000'000});
      sum += gaps.back();
      one_by_one.add(gaps.back(), 5);
    }
    const auto [least, most] = std::minmax_element(gaps.begin(), gaps.end());
    if (gaps.empty()) continue;
    together.add({gaps, sum, *least, *most}, 5);
  }
  EXPECT_TRUE(together == one_by_one);
}

// Gaps that rise evenly are counted as one by one, those below the first bucket included.
TEST(GapHistogram, OfRisingGapsIsThatOfEach) {
  for (const std::int64_t growth : {0, 1, 7, 20'000'000, 900'000'000}) {
    for (const std::int64_t first : {-5, 0, 250, 511, 512, 40'000'000}) {
      GapHistogram together, one_by_one;
      together.add_rising({first}, {growth}, 0);
      for (const std::int64_t times : {1, 2, 300}) {
        together.add_rising({first}, {growth}, times);
        for (std::int64_t i = 0; i < times; ++i) one_by_one.add({first + i * growth});
      }
      EXPECT_TRUE(together == one_by_one) << first << " and " << growth;
    }
  }
}

TEST(HeldTime, OfASpanIsThatOfItsSteps) {
  // Steps of 10, 20 and 30 s with a slack of 100, 93 and 86 tokens.
  const std::vector<SimTime> ends = {ms(5'000), ms(15'000), ms(35'000), ms(65'000)};
  HeldTime held;
  held.add(ends.back() - ends.front(), {4, 100, 2});
  held.lose_slack(ends, 7);
  EXPECT_EQ(held.busy(), ms(60'000));
  EXPECT_DOUBLE_EQ(held.used_block_seconds(), 240);
  EXPECT_DOUBLE_EQ(held.slack_token_seconds(), 10 * 100 + 20 * 93 + 30 * 86);
  EXPECT_DOUBLE_EQ(held.stranded_block_seconds(), 120);
}

TEST(Load, SamplesShareTheirPrompt) {
  LoadSpec spec;
  spec.requests = 3;
  spec.input = Lengths::parse("uniform(64, 100)");
  spec.output = Lengths::parse("uniform(10, 1000)");
  const RequestLoad one = make_load(spec);
  spec.samples = 4;
  const RequestLoad load = make_load(spec);
  ASSERT_EQ(load.requests.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    const Request &r = load.requests[i], &first = load.requests[i / 4 * 4];
    EXPECT_EQ(r.arrival, one.requests[i / 4].arrival);
    EXPECT_EQ(r.input, one.requests[i / 4].input);
    EXPECT_EQ(r.first_id, first.first_id);
    EXPECT_EQ(static_cast<std::int32_t>(r.ids), r.input / 16);
    if (i % 4 > 0) {
      EXPECT_NE(r.output, first.output);
    }
  }
  // Different prompts have nothing in common.
  std::vector<std::uint64_t> ids = load.ids;
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(Load, PrioritiesHaveTheirShares) {
  RequestLoad load;
  load.requests.resize(4000);
  for (std::size_t i = 0; i < load.requests.size(); ++i)
    load.requests[i].session = static_cast<std::int32_t>(i / 2);
  assign_priorities(load, {1, 0, 3}, 7);
  int first = 0;
  for (std::size_t i = 0; i < load.requests.size(); i += 2) {
    const std::int32_t p = load.requests[i].priority;
    EXPECT_NE(p, 1);
    EXPECT_EQ(p, load.requests[i + 1].priority);  // the same conversation
    first += p == 0;
  }
  EXPECT_NEAR(first, 500, 80);
  EXPECT_THROW(assign_priorities(load, {0, 0}, 7), InputError);
}

}  // namespace load_test
}  // namespace orrery
