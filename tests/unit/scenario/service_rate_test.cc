// The search for the highest rate, on services whose limit is known, and in whole scenarios.
#include "orrery/scenario/kinds/service/service_rate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace service_rate_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A short load hides queues: 1,000 requests seem to allow 91 a second, any number of them 70.
bool short_loads_flatter(double rate, std::int64_t requests) {
  return rate <= 70 * (1 + 300 / static_cast<double>(requests));
}

TEST(SearchRate, SimulatesLongerLoadsUntilTwoAgree) {
  const RateSearch s = search_rate(short_loads_flatter, 1000, 32'000);
  // 4,000: 75.3; 8,000: 72.6; 16,000: 71.3, which is 1.8 % less; 32,000: 70.7. The bisection leaves
  // 1 % to each rate, so that 16,000 may agree with 8,000 or not.
  EXPECT_TRUE(s.settled);
  EXPECT_GE(s.requests, 16'000);
  const auto limit = [](std::int64_t n) { return 70 * (1 + 300 / static_cast<double>(n)); };
  EXPECT_NEAR(s.rate, limit(s.requests), 0.01 * s.rate);
  EXPECT_NEAR(s.shorter, limit(s.requests / 2), 0.01 * s.rate);
}

TEST(SearchRate, SaysThatItHasNotSettled) {
  const RateSearch s = search_rate(short_loads_flatter, 300, 1000);
  EXPECT_FALSE(s.settled);
  EXPECT_EQ(s.requests, 1000);
  EXPECT_NEAR(s.rate, 91, 0.91);
  EXPECT_NEAR(s.shorter, 105, 1.05);
}

TEST(SearchRate, GoesOnWhereAFewRequestsMeetTheSloAtAnyRate) {
  const RateSearch s = search_rate(
      [](double rate, std::int64_t requests) { return requests < 400 || rate <= 25; }, 100, 6400);
  EXPECT_TRUE(s.settled);
  EXPECT_EQ(s.requests, 800);
  EXPECT_NEAR(s.rate, 25, 0.25);
}

TEST(SearchRate, KeepsTheLastLengthThatHasAnAnswer) {
  const RateSearch s = search_rate(
      [](double rate, std::int64_t requests) {
        if (requests > 200) throw Infeasible("1 of 400 requests can never run");
        return rate <= 25;
      },
      100, 6400, 500);
  EXPECT_FALSE(s.settled);  // 200 requests are fewer than enough
  EXPECT_EQ(s.requests, 200);
  EXPECT_NEAR(s.rate, 25, 0.25);
  EXPECT_EQ(s.refused, "1 of 400 requests can never run");
}

TEST(SearchRate, RefusesWhatHasNoAnswer) {
  EXPECT_THROW(search_rate([](double, std::int64_t) { return true; }, 100, 400), InputError);
  EXPECT_THROW(search_rate([](double, std::int64_t) { return false; }, 100, 400), Infeasible);
}

TEST(SearchRate, FindsRatesThatContradictASingleLimit) {
  // Missed around 5 requests/s; met up to 10, and again around 15.
  const MeetsSlo meets = [](double rate, std::int64_t) {
    return (rate < 10 && !(rate > 4.5 && rate < 5.5)) || (rate > 14 && rate < 16);
  };
  RateSearch s = search_rate(meets, 100, 3200);
  ASSERT_NEAR(s.rate, 10, 0.1);
  check_rates(meets, s);
  EXPECT_THAT(s.missed_below, ElementsAre(0.5 * s.rate));
  EXPECT_THAT(s.met_above, ElementsAre(1.5 * s.rate));
  RateSearch plain = search_rate(short_loads_flatter, 1000, 32'000);
  check_rates(short_loads_flatter, plain);
  EXPECT_TRUE(plain.missed_below.empty());
  EXPECT_TRUE(plain.met_above.empty());
}

Point answer(const std::string& rest) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = false;
  return runner
      .run(read_scenario(
               all_kinds(),
               parse_yaml("model: llama-3.1-8b\nhardware: {gpu: l40s}\n" + rest, "s.yaml")),
           options)
      .points.at(0);
}

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m ? m->value : 0;
}

TEST(MaxRate, HardlyDependsOnTheRequestsAskedFor) {
  const auto ask = [](int requests) {
    return answer(
        fmt::format("load: {{find_max_rate: true, isl: 'lognormal(800, 1)', osl: 64, requests: {}}}"
                    "\nslo: {{ttft: 1 s, percentile: 90}}\n",
                    requests));
  };
  const Point few = ask(100), many = ask(3000);
  EXPECT_NEAR(value(few, "max_rate"), value(many, "max_rate"), 0.06 * value(many, "max_rate"));
  // The other figures are of the load that gave the rate.
  EXPECT_GT(value(few, "requests"), 200);
  EXPECT_LE(value(few, "ttft_p90"), 1000);
  EXPECT_THAT(
      few.notes,
      Contains(HasSubstr(fmt::format("max_rate: found with {} requests", value(few, "requests")))));
}

// `requests` requests, one a second.
std::string trace_file(int requests) {
  const auto file = std::filesystem::path(testing::TempDir()) / "orrery_rate_trace.csv";
  std::ofstream out(file);
  out << "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < requests; ++i) out << i << "," << 500 + i % 7 * 100 << ",32\n";
  return file.string();
}

TEST(MaxRate, ScalesTheArrivalsOfATrace) {
  const std::string trace = trace_file(1200);
  const Point p =
      answer(fmt::format("load: {{find_max_rate: true, trace: {}}}\nslo: {{ttft: 1 s}}\n", trace));
  const double rate = value(p, "max_rate");
  EXPECT_GT(rate, 2);
  EXPECT_THAT(p.notes, Contains(HasSubstr("scaled from 1 requests/s by")));
  EXPECT_EQ(value(p, "requests"), 1200);
  EXPECT_LE(value(p, "ttft_p99"), 1000);
  // The same trace, that much faster, is that load; and a tenth faster again misses the limit.
  const auto scaled = [&](double by) {
    return value(answer(fmt::format("load: {{trace: {}, time_scale: {}}}\n", trace, 1 / by)),
                 "ttft_p99");
  };
  EXPECT_NEAR(scaled(rate), value(p, "ttft_p99"), 1e-3 * value(p, "ttft_p99"));
  EXPECT_GT(scaled(1.1 * rate), 1000);
}

TEST(MaxRate, RefusesLoadsWithoutARate) {
  const auto refused = [](const std::string& load, const std::string& why) {
    try {
      answer("load: {find_max_rate: true, " + load + "}\nslo: {ttft: 1 s}\n");
      FAIL() << load;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(why));
    }
  };
  refused("arrivals: at-once", "needs load.arrivals that have a rate");
  refused("max_concurrency: 4", "closed loop");
}

TEST(Trace, IsSentWholeUnlessTheNumberOfRequestsIsGiven) {
  const std::string trace = trace_file(1200);
  EXPECT_EQ(value(answer(fmt::format("load: {{trace: {}}}\n", trace)), "requests"), 1200);
  EXPECT_EQ(value(answer(fmt::format("load: {{trace: {}, requests: 300}}\n", trace)), "requests"),
            300);
  EXPECT_EQ(value(answer("load: {rate: 1, osl: 8}\n"), "requests"), 1000);
}

}  // namespace service_rate_test
}  // namespace orrery
