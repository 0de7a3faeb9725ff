// orrery replay as a user runs it: damaged traces end in one line and exit code 2, the timeline is
// a file that Perfetto reads, packed traces are read as plain ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace {

using testing::HasSubstr;

const std::string kTrace = ORRERY_SOURCE_DIR "/fuzz/corpus/kineto/data_parallel.json";

void expect_refused(const std::string& arguments, const std::string& message) {
  const Result r = run_program("replay " + arguments);
  EXPECT_EQ(r.code, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr(message));
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST(Replay, DamagedTracesEndInOneLine) {
  const Scratch s;
  const std::string text = read_file(kTrace);
  expect_refused("'" + s.file("cut.json", text.substr(0, text.size() / 2)) + "'",
                 "the text ends early");
  expect_refused(
      "'" + s.file("cut.json.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b", 11)) + "'",
      "the gzip stream is cut short");
  expect_refused("'" + s.file("none.json", "{\"traceEvents\": []}") + "'", "no work of a GPU");
  expect_refused("'" + s.file("other.json", "{\"a\": 1}") + "'", "no traceEvents");
  expect_refused("'" +
                     s.file("binary.json", std::string("\x7f"
                                                       "ELF\0\xff",
                                                       6)) +
                     "'",
                 "expected a trace of torch.profiler");
  expect_refused("missing.json", "missing.json: no such file");
  expect_refused(kTrace + " --step 9", "the trace has 3 to 4");
}

TEST(Replay, TheAnswerAsJsonAndTheTimelineOfTheWhatIf) {
  const Scratch s;
  const std::string timeline = s.path() / "timeline.json";
  const Result r =
      run_program("replay " + kTrace + " --scale gemm=0.5 -o json --perfetto '" + timeline + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  EXPECT_EQ(j.at("steps"), 2);
  EXPECT_LT(std::abs(j.at("replay_difference").get<double>()), 0.03);
  const double gemm = j["replayed"]["classes"]["gemm"]["busy_ms"];
  EXPECT_NEAR(j["what_if"]["classes"]["gemm"]["busy_ms"].get<double>(), gemm / 2, 1e-9);
  EXPECT_LT(j["what_if"]["interval90_ms"][0], j["what_if"]["step_ms"]);
  double end = 0;
  const auto drawn = nlohmann::json::parse(read_file(timeline));
  for (const auto& e : drawn.at("traceEvents")) {
    if (e.at("ph") == "X") end = std::max(end, e.at("ts").get<double>() + e["dur"].get<double>());
  }
  EXPECT_LE(end, j["what_if"]["step_ms"].get<double>() * 2 * 1e3 + 0.01);
  EXPECT_GT(end, j["what_if"]["step_ms"].get<double>() * 1.9 * 1e3);
}

}  // namespace
}  // namespace orrery::golden
