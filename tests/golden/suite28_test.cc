// Scenarios of scenarios/suite28 without a technique of their own (suite_techniques_test.cc has
// those): bounds from data sheets, counts and what a scheduler promises.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/scenario/runner.h"

namespace orrery {
namespace {

Answer answer_of(const std::string& id) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = false;
  return runner.run(
      read_scenario(std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios/suite28/" + id + ".yaml")),
      options);
}

Point point_of(const std::string& id) { return answer_of(id).points.at(0); }

double value(const Point& p, std::string_view metric) {
  const Metric* m = p.find(metric);
  EXPECT_NE(m, nullptr) << metric;
  return m ? m->value : NAN;
}

void expect_between(double v, double least, double most) {
  EXPECT_GE(v, least);
  EXPECT_LE(v, most);
}

// TPOT in ms where every step reads `gigabytes` of weights a GPU at 2.039 TB/s.
double read_time(double gigabytes) { return gigabytes / 2.039; }

TEST(Suite28, P_I1SingleRequests) {
  // Weights without the embedding; 312 TFLOP/s for 512 prompt tokens. At most twice either.
  struct Case {
    const char* id;
    double weights, flops;  // GB and 1e12 a GPU
  };
  for (const Case& c : {Case{"P-I1.1", 13.21, 2 * 6.6e-3 * 512},
                        {"P-I1.2", 25.7, 2 * 12.85e-3 * 512},
                        {"P-I1.3", 34.36, 2 * 68.7e-3 * 512 / 4}}) {
    const Point p = point_of(c.id);
    expect_between(value(p, "tpot"), read_time(c.weights), 2 * read_time(c.weights));
    expect_between(value(p, "ttft"), c.flops / 0.312, 2.2 * c.flops / 0.312);
  }
}

TEST(Suite28, P_I2_1PromptsFirst) {
  const Point p = point_of("P-I2.1");
  expect_between(value(p, "tpot"), read_time(13.21), 2 * read_time(13.21));
  EXPECT_LT(value(p, "e2e"), value(p, "e2e_p99"));
  EXPECT_GT(value(p, "stalls"), 0);  // decodes wait for prompts
  EXPECT_EQ(value(p, "evictions"), 0);
}

TEST(Suite28, P_I2_2SarathiStallsNobody) {
  const Point p = point_of("P-I2.2");
  EXPECT_EQ(value(p, "stalls"), 0);
  EXPECT_EQ(value(p, "evictions"), 0);
  EXPECT_GT(value(p, "tpot"), read_time(25.7));
  EXPECT_LT(value(p, "ttft"), 1000.0 / 2);  // far below saturation at 2 a second
}

TEST(Suite28, P_I2_3FourReplicas) {
  const Answer a = answer_of("P-I2.3");
  const Point& p = a.points.at(0);
  EXPECT_EQ(p.at["gpus"], 32);
  // 8 a second of 211 tokens; the mean of a thousand log-normal lengths spreads by 4 %.
  EXPECT_NEAR(value(p, "output_throughput"), 8 * 211, 0.15 * 8 * 211);
  expect_between(value(p, "goodput"), 0.9 * value(p, "request_throughput"),
                 1.0001 * value(p, "request_throughput"));
}

TEST(Suite28, P_I3_1MostRequestsInMemory) {
  // 85.9 GB * 0.9 less 13.5 GB of weights, over 2.147 GB a request, less activations.
  for (const Point& p : answer_of("P-I3.1").points)
    expect_between(value(p, "max_concurrency"), 26, 29);
}

TEST(Suite28, P_I5_3FourBitWeights) {
  const Point p = point_of("P-I5.3");
  expect_between(value(p, "weights"), 34.5, 40);
  expect_between(value(p, "tpot"), read_time(34.4), 2.3 * read_time(34.4));
}

TEST(Suite28, P_I5_5EightBitWeightsAndCache) {
  const Point eight = point_of("P-I5.5"), sixteen = point_of("P-I5.5-bf16");
  expect_between(value(sixteen, "tpot") / value(eight, "tpot"), 1.3, 2);
  // Half the cache a token, and 17 GB more room on each GPU.
  expect_between(value(eight, "max_concurrency") / value(sixteen, "max_concurrency"), 2.5, 3.5);
}

}  // namespace
}  // namespace orrery
