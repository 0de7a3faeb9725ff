// Physical bounds against counts by hand and data sheets.
#include "orrery/scenario/answer/bound_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace physical_bounds_test {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Answer answer(const std::string& yaml) {
  Runner runner{Bundle()};
  RunOptions options;
  options.bounds = true;
  options.intervals = false;
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "test.yaml")), options);
}

Range bound(const Point& p, const std::string& metric) {
  Range r;
  for (const MetricBound& b : p.bounds) {
    if (b.metric != metric) continue;
    EXPECT_FALSE(b.why.empty()) << metric;
    r.low = std::max(r.low, b.low), r.high = std::min(r.high, b.high);
  }
  return r;
}

void expect_inside(const Answer& a) {
  for (const Point& p : a.points) {
    for (const Metric& m : p.metrics) {
      const Range r = bound(p, m.name);
      EXPECT_GE(m.value, r.low - 1e-9) << m.name;
      EXPECT_LE(m.value, r.high * (1 + 1e-9)) << m.name;
    }
  }
}

// Llama-2-7B: 6.738e9 weights, of which 32000 x 4096 are the embedding; 0.524 MB of cache a token.
constexpr double kWeights = 2 * (6.738e9 - 32000.0 * 4096);
constexpr double kCache = 2.0 * 32 * 2 * 4096;
constexpr double kL2 = 40 * 1048576.0, kBandwidth = 2.039e12;

TEST(PhysicalBounds, OfRequestsFollowWeightsCacheAndFlops) {
  const Answer a = answer(
      "{model: llama-2-7b, hardware: {gpu: a100-80g-sxm}, workload: {isl: 1024, osl: 65, batch: "
      "4}}");
  const Point& p = a.points.at(0);
  const double step = (kWeights + 1024 * kCache - kL2) / kBandwidth * 1e3;
  EXPECT_NEAR(bound(p, "tpot").low, step, 0.005 * step);
  // The LM head's 0.13e9 weights are for one token of the prompt.
  const double attention = 32 * 2 * 2 * 4096.0 * (1024.0 * 1025 / 2);
  const double first = (2 * 1024 * (kWeights / 2 - 0.131e9) + attention) / 312e12 * 1e3;
  EXPECT_NEAR(bound(p, "ttft").low, first, 0.01 * first);
  EXPECT_NEAR(bound(p, "e2e").low, first + 64 * step, 0.01 * (first + 64 * step));
  EXPECT_NEAR(bound(p, "request_throughput").high, 4 / (first + 64 * step) * 1e3,
              0.01 * 4 / (first + 64 * step) * 1e3);
  EXPECT_NEAR(bound(p, "kv_cache_per_request").low, 0.97 * 1089 * kCache / 1e9, 0.02);
  EXPECT_NEAR(bound(p, "memory").low, 0.97 * 13.48, 0.1);
  EXPECT_EQ(bound(p, "busy").low, -std::numeric_limits<double>::infinity());  // no such metric
  expect_inside(a);
}

TEST(PhysicalBounds, CachedPromptsAndDraftsLowerTimes) {
  const auto requests = [](const std::string& more) {
    return answer("{model: llama-2-7b, hardware: {gpu: a100-80g-sxm}, workload: {isl: 4096" + more +
                  "}}");
  };
  const double whole = bound(requests("").points.at(0), "ttft").low;
  const double cached = bound(requests(", past: 3072").points.at(0), "ttft").low;
  EXPECT_LT(cached, 0.35 * whole);
  EXPECT_GT(cached, 0.2 * whole);

  const auto service = [](const std::string& more) {
    return answer(
        "{model: llama-2-7b, hardware: {gpu: a100-80g-sxm}, load: {requests: 20, isl: 512, osl: "
        "64}" +
        more + "}");
  };
  const Answer plain = service("");
  const Answer drafts = service(", speculation: {method: ngram, tokens: 3}");
  EXPECT_NEAR(bound(drafts.points.at(0), "tpot").low, bound(plain.points.at(0), "tpot").low / 4,
              1e-9);
  EXPECT_EQ(bound(drafts.points.at(0), "accepted_length").high, 4);
  EXPECT_EQ(bound(plain.points.at(0), "prefix_hits").high, 0);
  EXPECT_EQ(bound(plain.points.at(0), "waiting_q1").high, 20);
  expect_inside(plain);
  expect_inside(drafts);
}

// Lengths in any order; the shortest counts.
TEST(PhysicalBounds, RandomLengthsAreTakenAsTheShortest) {
  const auto at = [](const std::string& lengths) {
    return bound(answer("{model: llama-2-7b, hardware: {gpu: a100-80g-sxm}, load: {requests: 8, "
                        "isl: '" +
                        lengths + "', osl: 8}}")
                     .points.at(0),
                 "ttft_p99")
        .low;
  };
  EXPECT_EQ(at("2048 | 512 | 1024"), at("512"));
  EXPECT_EQ(at("uniform(512, 2048)"), at("512"));
  EXPECT_LT(at("512"), at("2048"));
}

TEST(PhysicalBounds, OfTrainingFollowModelFlopsAndStates) {
  const Answer a = answer(
      "{model: llama-2-7b, hardware: {gpu: h100-sxm}, training: {stack: megatron, gpus: 8, seq: "
      "4096, micro_batch: 1, global_batch: 32, zero: 1}}");
  const Point& p = a.points.at(0);
  const double tokens = 32 * 4096;
  const double attention = 3 * 32 * 2 * 2 * 4096.0 * (4097.0 / 2);  // a token
  const double work = tokens * (6 * (6.738e9 - 32000.0 * 4096) + attention);
  const double least = work / (8 * 989.4e12);
  EXPECT_NEAR(bound(p, "iteration_time").low, least, 0.01 * least);
  EXPECT_NEAR(bound(p, "throughput").high, tokens / least, 0.01 * tokens / least);
  EXPECT_EQ(bound(p, "mfu").high, 100);
  // bf16 weights; master weights and two moments in fp32, an eighth of them.
  EXPECT_GT(bound(p, "memory").low, 0.97 * (2 + 12 / 8.0) * 6.738);
  EXPECT_LT(bound(p, "memory").low, (2 + 12 / 8.0) * 6.738 + 2);
  EXPECT_NEAR(bound(p, "activations").low, 32 * 4096 * 4096 * 2 / 1e9, 1e-6);
  expect_inside(a);
}

TEST(PhysicalBounds, OfCollectivesFollowLinks) {
  const Answer a = answer(
      "{hardware: {gpu: a100-80g-sxm}, collective: {kind: all-reduce, bytes: 1000000000, gpus: "
      "8}}");
  const Point& p = a.points.at(0);
  // Every GPU sends at least its share of the sum: 1 GB over 300 GB/s, once with reduction in the
  // switches, and nearly twice without it.
  EXPECT_GE(bound(p, "time").low, 7 / 8.0 * 1e9 / 300e9 * 1e6);
  EXPECT_LE(bound(p, "time").low, 2 * 7 / 8.0 * 1e9 / 300e9 * 1e6 * 1.001);
  expect_inside(a);
}

TEST(PhysicalBounds, AreOnRequest) {
  Runner runner{Bundle()};
  const Answer a = runner.run(read_scenario(
      all_kinds(), parse_yaml("{model: llama-2-7b, hardware: {gpu: h100-sxm}}", "test.yaml")));
  EXPECT_TRUE(a.points.at(0).bounds.empty());
}

}  // namespace physical_bounds_test
}  // namespace orrery
