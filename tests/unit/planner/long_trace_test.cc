// Plans of long traces: what part of a trace stands for it, and what is done with all of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/bound/thinned_load.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace long_trace_test {

using ::testing::HasSubstr;

// Request i arrives after i * `between` and has a prompt of i tokens, of which each has an id of
// its own if `named`.
RequestLoad counted_load(std::int32_t requests, double between, bool named = false) {
  RequestLoad out;
  for (std::int32_t i = 0; i < requests; ++i) {
    Request r;
    r.arrival = sim_seconds(i * between), r.input = i + 1;
    if (named) r.first_id = static_cast<std::uint32_t>(out.ids.size()), r.ids = 2;
    if (named) out.ids.insert(out.ids.end(), {static_cast<std::uint64_t>(i), 7});
    out.requests.push_back(r);
  }
  return out;
}

TEST(ThinnedLoad, OfAShortTraceIsAllOfIt) {
  EXPECT_FALSE(thinned(counted_load(kShort, 0.01)));
  // Two stretches of a minute would be more than half of these 160 s.
  EXPECT_FALSE(thinned(counted_load(80'000, 0.002)));
}

TEST(ThinnedLoad, HasStretchesFromAllOfTheTraceAtItsRate) {
  const auto part = thinned(counted_load(80'000, 0.1, true));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->stretches, 8);
  const auto& requests = part->load.requests;
  ASSERT_EQ(requests.size(), 20'000U);
  double sum = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_NEAR(requests[i].arrival.seconds(), 0.1 * static_cast<double>(i), 1e-6);
    const bool starts = i % 2'500 == 0;
    EXPECT_TRUE(starts || requests[i].input == requests[i - 1].input + 1);
    EXPECT_EQ(part->load.ids[requests[i].first_id], static_cast<unsigned>(requests[i].input - 1));
    sum += requests[i].input;
    if (HasFailure()) return;
  }
  // The mean of the trace: the stretches lie symmetrically in it.
  EXPECT_NEAR(sum / 20'000, 40'000.5, 1);
}

TEST(ThinnedLoad, HasAMinuteInEachStretchOfABusyTrace) {
  const auto part = thinned(counted_load(200'000, 1.0 / 400));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->stretches, 4);
  EXPECT_EQ(part->load.requests.size(), 4U * 400 * 60);
}

TEST(ThinnedLoad, KeepsTurnsWhoseTurnBeforeIsInTheStretch) {
  RequestLoad load = counted_load(80'000, 0.1);
  for (std::size_t i = 0; i + 1 < load.requests.size(); i += 2) load.follow(i, i + 1, SimTime{5});
  for (std::size_t i = 1; i + 4'000 < load.requests.size(); i += 8'000)
    load.follow(i, i + 3'999, SimTime{9});  // its next turn is further away than a stretch is long
  const auto part = thinned(load);
  ASSERT_TRUE(part);
  std::size_t followed = 0;
  for (std::size_t i = 0; i < part->load.requests.size(); ++i) {
    const FollowUp& f = part->load.follow_ups[i];
    if (f.next == FollowUp::kNone) continue;
    ++followed;
    EXPECT_EQ(f.delay, SimTime{5});
    EXPECT_EQ(f.next, i + 1);
    EXPECT_TRUE(part->load.waits(i + 1));
  }
  EXPECT_GE(followed, 9'900U);
}

TEST(ThinnedLoad, ArrivesFasterAtAHigherRate) {
  const RequestLoad load = at_times_rate(counted_load(5, 2), 4);
  EXPECT_EQ(load.requests[4].arrival, sim_seconds(2));
  EXPECT_EQ(load.requests[4].input, 5);
}

// 60,000 requests, of which fleets are tried with 20,000 and plans are proved with all.
TEST(Plans, OfALongTraceAreProvedWithAllOfIt) {
  const auto path = std::filesystem::temp_directory_path() / "orrery_long_trace_test.csv";
  std::mt19937_64 random(4);
  std::ofstream file(path);
  file << "arrival_s,input_tokens,output_tokens\n";
  double at = 0;
  for (int i = 0; i < 60'000; ++i) {
    // Twice the rate in the last tenth.
    at += (i < 54'000 ? 2 : 1) * static_cast<double>(random() % 1000) * 5e-5;
    file << fmt::format("{:.4f},{},{}\n", at, 200 + random() % 400, 1 + random() % 3);
  }
  file.close();
  Runner runner{Bundle()};
  const Plans plans = find_plans(
      runner,
      read_scenario(
          all_kinds(),
          parse_yaml(fmt::format("model: llama-3.2-1b\nload: {{trace: {}}}\nslo: {{ttft: 60 "
                                 "ms, percentile: 90}}\nplan: {{gpu: [l40s], pp: [1], tp: "
                                 "[1, 2], objective: gpus, top: 1}}",
                                 path.string()),
                     "plan"))
          .points.front());
  std::filesystem::remove(path);
  const Point& p = plans.answer.points.front();
  EXPECT_TRUE(p.meets_slo.value_or(false));
  EXPECT_THAT(p.notes, testing::Contains(HasSubstr("of the 60000 requests of ")));
  EXPECT_THAT(p.notes, testing::Contains(HasSubstr("first tried with 20000, in 8 stretches")));
  EXPECT_THAT(p.notes.back(), HasSubstr("by a part of the trace but for the best fleets"));
  // The figures are of all requests.
  EXPECT_EQ(p.find("requests")->value, 60'000);
}

}  // namespace long_trace_test
}  // namespace orrery
