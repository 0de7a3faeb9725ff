#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/scenario/measured/service_result.h"

namespace orrery {
namespace {

class ResultFile {
 public:
  ResultFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  ~ResultFile() { std::filesystem::remove(path_); }
  ServiceResult read() const { return read_service_result(path_); }

 private:
  std::filesystem::path path_;
};

constexpr const char* kTotals =
    "\"model_id\": \"m\", \"completed\": 4, \"total_input_tokens\": 400, \"total_output_tokens\": "
    "40, "
    "\"mean_ttft_ms\": 30, \"p99_ttft_ms\": 90, \"mean_tpot_ms\": 7, \"output_throughput\": 55";

TEST(ServiceResult, VllmWithSingleRequestsIsReplayed) {
  const ServiceResult r =
      ResultFile("detailed.json", std::string("{") + kTotals +
                                      ", \"request_rate\": \"inf\", \"max_concurrency\": 2, "
                                      "\"input_lens\": [10, 20, 30], \"output_lens\": [5, 0, 7], "
                                      "\"start_times\": [101.5, 100.5, 100.0]}")
          .read();
  EXPECT_TRUE(r.exact_load);
  ASSERT_EQ(r.load.requests.size(), 2u);  // the failed one is left out
  EXPECT_EQ(r.load.requests[0].input, 30);
  EXPECT_EQ(r.load.requests[1].arrival.ps, 1'500'000'000'000);
  EXPECT_EQ(r.max_concurrency, 0);  // the start times hold it already
  EXPECT_DOUBLE_EQ(r.figures.at("ttft_p99"), 90);
}

TEST(ServiceResult, VllmTotalsBecomeALoadOfTheSameMeans) {
  const ServiceResult r =
      ResultFile("totals.json",
                 std::string("{") + kTotals + ", \"request_rate\": 5.0, \"max_concurrency\": 2}")
          .read();
  EXPECT_FALSE(r.exact_load);
  ASSERT_EQ(r.load.requests.size(), 4u);
  EXPECT_EQ(r.load.requests[3].input, 100);
  EXPECT_EQ(r.load.requests[3].output, 10);
  EXPECT_EQ(r.max_concurrency, 2);
}

TEST(ServiceResult, AiperfLinesGiveLoadAndFigures) {
  const auto line = [](int start_ms, int input, int output, int ttft, int latency) {
    return "{\"metadata\": {\"request_start_ns\": " + std::to_string(start_ms) +
           "000000}, \"metrics\": {\"input_sequence_length\": {\"value\": " +
           std::to_string(input) +
           "}, \"output_sequence_length\": {\"value\": " + std::to_string(output) +
           "}, \"time_to_first_token\": {\"value\": " + std::to_string(ttft) +
           "}, \"request_latency\": {\"value\": " + std::to_string(latency) + "}}}\n";
  };
  const ServiceResult r =
      ResultFile("profile_export.jsonl", line(2000, 8, 11, 20, 120) + line(1000, 9, 21, 40, 640))
          .read();
  ASSERT_EQ(r.load.requests.size(), 2u);
  EXPECT_EQ(r.load.requests[0].input, 9);  // in order of start
  EXPECT_DOUBLE_EQ(r.figures.at("ttft"), 30);
  EXPECT_DOUBLE_EQ(r.figures.at("tpot"), (10.0 + 30.0) / 2);
  // 32 tokens from 1.0 s to 2.12 s.
  EXPECT_NEAR(r.figures.at("output_throughput"), 32 / 1.12, 1e-9);
}

// As a real file: a failed request, a warm-up, no first token where nothing is streamed, seconds.
TEST(ServiceResult, AiperfLinesThatDoNotCount) {
  const auto about = [](const std::string& more) {
    return "{\"metadata\": {\"request_start_ns\": 1759813207532900363" + more + "}, ";
  };
  const std::string sizes =
      "\"metrics\": {\"input_sequence_length\": {\"value\": 9, \"unit\": \"tokens\"}, "
      "\"output_sequence_length\": {\"value\": 1, \"unit\": \"tokens\"}, ";
  const std::string one = sizes + "\"request_latency\": {\"value\": 0.25, \"unit\": \"sec\"}}";
  const ServiceResult r =
      ResultFile("mixed.jsonl",
                 about("") + one + ", \"error\": null}\n" +
                     about(", \"benchmark_phase\": \"warmup\"") + one + "}\n" +
                     about(", \"was_cancelled\": true") +
                     "\"metrics\": {\"error_isl\": {\"value\": 5}}, \"error\": {\"code\": 499}}\n")
          .read();
  ASSERT_EQ(r.load.requests.size(), 1u);
  EXPECT_DOUBLE_EQ(r.figures.at("ttft"), 250);
  EXPECT_DOUBLE_EQ(r.figures.at("e2e"), 250);
}

TEST(ServiceResult, AiperfTotalsBecomeALoadOfTheSameMeans) {
  const std::string figures =
      "{\"schema_version\": \"1.5\", \"request_count\": {\"unit\": \"requests\", \"avg\": 20.0}, "
      "\"request_throughput\": {\"unit\": \"requests/sec\", \"avg\": 1.5}, "
      "\"request_latency\": {\"unit\": \"ms\", \"avg\": 2620.71, \"p50\": 2568.73, \"p99\": "
      "3371.24}, \"inter_token_latency\": {\"unit\": \"ms\", \"avg\": 8.5}, "
      "\"input_sequence_length\": {\"unit\": \"tokens\", \"avg\": 550.4}, "
      "\"output_sequence_length\": {\"unit\": \"tokens\", \"avg\": 99.7}";
  const ServiceResult closed =
      ResultFile("profile_export_aiperf.json",
                 figures + ", \"input_config\": {\"loadgen\": {\"concurrency\": 4}}}")
          .read();
  EXPECT_EQ(closed.tool, "aiperf");
  EXPECT_FALSE(closed.exact_load);
  EXPECT_EQ(closed.max_concurrency, 4);
  ASSERT_EQ(closed.load.requests.size(), 20u);
  EXPECT_EQ(closed.load.requests[3].input, 550);
  EXPECT_EQ(closed.load.requests[19].arrival.ps, 0);
  EXPECT_DOUBLE_EQ(closed.figures.at("e2e_p99"), 3371.24);
  EXPECT_DOUBLE_EQ(closed.figures.at("tpot"), 8.5);
  const ServiceResult open = ResultFile("open.json", figures + "}").read();
  EXPECT_EQ(open.max_concurrency, 0);
  EXPECT_GT(open.load.requests[19].arrival.seconds(), 5);
  EXPECT_LT(open.load.requests[19].arrival.seconds(), 30);
}

TEST(ServiceResult, TimesThatCannotBe) {
  const auto line = [](const std::string& ttft, const std::string& latency) {
    return "{\"metadata\": {\"request_start_ns\": 5}, \"metrics\": {\"input_sequence_length\": "
           "{\"value\": 3}, \"output_sequence_length\": {\"value\": 3}, \"time_to_first_token\": "
           "{\"value\": " +
           ttft + "}, \"request_latency\": {\"value\": " + latency + "}}}";
  };
  EXPECT_THROW(ResultFile("late.jsonl", line("20", "10")).read(), InputError);
  EXPECT_THROW(ResultFile("negative.jsonl", line("-1", "10")).read(), InputError);
}

TEST(ServiceResult, GuidellmRequestsAreRead) {
  const ServiceResult r =
      ResultFile("benchmarks.json",
                 "{\"benchmarks\": [{\"requests\": {\"successful\": [{\"request_start_time\": 5, "
                 "\"prompt_tokens\": 12, \"output_tokens\": 3, \"time_to_first_token_ms\": 25, "
                 "\"request_latency\": 0.045}]}}]}")
          .read();
  EXPECT_EQ(r.tool, "guidellm");
  EXPECT_NEAR(r.figures.at("tpot"), 10, 1e-9);
}

TEST(ServiceResult, OtherFilesAreRefused) {
  EXPECT_THROW(ResultFile("a.json", "{\"x\": 1}").read(), InputError);
  EXPECT_THROW(ResultFile("b.json", "[1").read(), InputError);
  EXPECT_THROW(ResultFile("c.json", "{\"mean_ttft_ms\": 3}").read(), InputError);
  EXPECT_THROW(ResultFile("d.jsonl", "").read(), InputError);
}

Point predicted(double ttft, double tpot, double running) {
  Point p;
  const auto add = [&](const char* name, double v) {
    p.metrics.push_back({name, "ms", v, 0.97 * v, 1.03 * v, 0.9 * v, 1.1 * v, Origin::kFitted});
  };
  add("ttft", ttft), add("tpot", tpot), add("running", running);
  return p;
}

TEST(Compare, SlowStepsOfFewSequencesPointToTheHost) {
  ServiceResult measured;
  measured.figures = {{"ttft", 50}, {"tpot", 20}};
  const Comparison c = compare(measured, predicted(50, 10, 4));
  ASSERT_EQ(c.figures.size(), 2u);
  EXPECT_TRUE(c.figures[0].within());
  EXPECT_DOUBLE_EQ(c.figures[1].difference(), -50);
  ASSERT_EQ(c.causes.size(), 1u);
  EXPECT_NE(c.causes[0].find("host"), std::string::npos);
}

TEST(Compare, LateFirstTokensWithRightStepsPointToTheFrontEnd) {
  ServiceResult measured;
  measured.figures = {{"ttft", 200}, {"tpot", 10}};
  const Comparison c = compare(measured, predicted(50, 10, 4));
  ASSERT_EQ(c.causes.size(), 1u);
  EXPECT_NE(c.causes[0].find("front end"), std::string::npos);
  EXPECT_TRUE(compare(measured, predicted(200, 10, 4)).causes.empty());
}

}  // namespace
}  // namespace orrery
