#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/scenario/measured/service_comparison.h"

namespace orrery {
namespace service_result_test {

class ResultFile {
 public:
  ResultFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  ~ResultFile() { std::filesystem::remove(path_); }
  std::vector<ServiceResult> read_all() const { return read_service_results(path_); }
  // The only run of the file.
  ServiceResult read() const {
    const std::vector<ServiceResult> runs = read_all();
    EXPECT_EQ(runs.size(), 1u);
    return runs.at(0);
  }

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
  EXPECT_EQ(r.detail, LoadDetail::kRequests);
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
  EXPECT_EQ(r.detail, LoadDetail::kTotals);
  ASSERT_EQ(r.load.requests.size(), 4u);
  EXPECT_EQ(r.load.requests[3].input, 100);
  EXPECT_EQ(r.load.requests[3].output, 10);
  EXPECT_EQ(r.max_concurrency, 2);
}

// As sglang.bench_serving writes it: a line a run, and Python's Infinity.
TEST(ServiceResult, SglangHasALineARun) {
  const auto line = [](const std::string& rate, const std::string& concurrency, int completed,
                       const std::string& more) {
    return "{\"tag\": null, \"backend\": \"sglang\", \"dataset_name\": \"random\", "
           "\"request_rate\": " +
           rate + ", \"max_concurrency\": " + concurrency +
           ", \"server_info\": {\"version\": \"Infinity is a word here\"}, \"duration\": 25.0, "
           "\"completed\": " +
           std::to_string(completed) +
           ", \"total_input_tokens\": 1000, \"total_output_tokens\": 500, "
           "\"total_output_tokens_retokenized\": 498, \"request_throughput\": 0.4, "
           "\"output_throughput\": 20.0, \"total_throughput\": 60.0, \"mean_e2e_latency_ms\": "
           "700.0, "
           "\"median_e2e_latency_ms\": 690.0, \"p99_e2e_latency_ms\": 900.0, \"mean_ttft_ms\": "
           "55.0, "
           "\"p99_ttft_ms\": 80.0, \"mean_tpot_ms\": 13.0, \"mean_itl_ms\": 13.5, \"p95_itl_ms\": "
           "20.0, \"accept_length\": NaN" +
           more + "}\n";
  };
  const std::vector<ServiceResult> runs =
      ResultFile("sglang.jsonl", line("Infinity", "8", 10, "") + line("4.0", "null", 5, "") +
                                     line("\"trace\"", "null", 2,
                                          ", \"input_lens\": [100, 300], \"output_lens\": [7, 9]"))
          .read_all();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].tool, "sglang");
  EXPECT_EQ(runs[0].max_concurrency, 8);
  EXPECT_EQ(runs[0].about, "all requests at once, 10 requests, at most 8 at a time");
  ASSERT_EQ(runs[0].load.requests.size(), 10u);
  EXPECT_EQ(runs[0].load.requests[9].arrival.ps, 0);
  EXPECT_EQ(runs[0].load.requests[0].input, 100);
  EXPECT_EQ(runs[0].load.requests[0].output, 50);
  EXPECT_DOUBLE_EQ(runs[0].figures.at("e2e_p99"), 900);
  EXPECT_DOUBLE_EQ(runs[0].figures.at("itl"), 13.5);
  EXPECT_DOUBLE_EQ(runs[0].figures.at("total_throughput"), 60);
  EXPECT_EQ(runs[1].about, "4 requests/s, 5 requests");
  EXPECT_EQ(runs[1].max_concurrency, 0);
  EXPECT_GT(runs[1].load.requests[4].arrival.seconds(), 0);
  // Lengths of every request without their times: arrivals at completed / duration.
  EXPECT_EQ(runs[2].detail, LoadDetail::kLengths);
  EXPECT_EQ(runs[2].about, "0.08 requests/s, 2 requests");
  ASSERT_EQ(runs[2].load.requests.size(), 2u);
  EXPECT_EQ(runs[2].load.requests[1].input, 300);
  EXPECT_EQ(runs[2].load.requests[1].output, 9);
}

// `vllm bench serve --append-result` puts one object after another into a .json file.
TEST(ServiceResult, VllmAppendsRuns) {
  const std::string run = std::string("{") + kTotals + ", \"request_rate\": ";
  const std::vector<ServiceResult> runs =
      ResultFile("appended.json", run + "2.0}\n" + run + "\"inf\"}").read_all();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].about, "2 requests/s, 4 requests");
  EXPECT_EQ(runs[1].about, "all requests at once, 4 requests");
  EXPECT_EQ(runs[1].tool, "vllm");
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
  EXPECT_EQ(closed.detail, LoadDetail::kTotals);
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
  const Comparison c = compare(measured, predicted(50, 10, 4), {});
  ASSERT_EQ(c.figures.size(), 2u);
  EXPECT_TRUE(c.figures[0].within());
  EXPECT_DOUBLE_EQ(c.figures[1].difference(), -50);
  ASSERT_EQ(c.causes.size(), 1u);
  EXPECT_NE(c.causes[0].find("host"), std::string::npos);
}

TEST(Compare, LateFirstTokensWithRightStepsPointToTheFrontEnd) {
  ServiceResult measured;
  measured.figures = {{"ttft", 200}, {"tpot", 10}};
  const Comparison c = compare(measured, predicted(50, 10, 4), {});
  ASSERT_EQ(c.causes.size(), 1u);
  EXPECT_NE(c.causes[0].find("front end"), std::string::npos);
  EXPECT_TRUE(compare(measured, predicted(200, 10, 4), {}).causes.empty());
}

// A key is advised with the value that was tried, and only if it moved the figure.
TEST(Compare, AdvisesOnlyKeysThatHaveAnEffect) {
  ServiceResult measured;
  measured.figures = {{"ttft", 50}, {"tpot", 20}};
  const auto resolved = nlohmann::ordered_json::parse(
      R"({"engine": {"constants": {"execution": {"host_per_step": "1 ms"}}}})");
  std::vector<std::string> tried;
  const auto causes = [&](auto tpot_with) {
    tried.clear();
    return compare(measured, predicted(50, 10, 4), resolved,
                   [&](const std::string& key, const std::string& value) {
                     tried.push_back(key + "=" + value);
                     return predicted(50, tpot_with(value), 4);
                   })
        .causes;
  };
  // If the host works after the GPU, 10 ms more host time make a step 10 ms longer.
  const auto after = causes([](const std::string&) { return 20.0; });
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(after[0].find("--set engine.host_per_step='11 ms' predicts tpot 20 ms"),
            std::string::npos)
      << after[0];
  // If the host works at the same time as the GPU, only host time longer than the step has an
  // effect.
  const auto beside = causes([](const std::string& v) { return v == "20 ms" ? 20.0 : 10.0; });
  EXPECT_NE(beside[0].find("engine.host_per_step='20 ms'"), std::string::npos) << beside[0];
  EXPECT_EQ(tried, (std::vector<std::string>{"engine.overrides.execution.host_per_step=11 ms",
                                             "engine.overrides.execution.host_per_step=20 ms"}));
  const auto none = causes([](const std::string&) { return 10.0; });
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].find("--set"), std::string::npos) << none[0];
}

}  // namespace service_result_test
}  // namespace orrery
