// orrery replay as a user runs it: damaged traces end in one line and exit code 2, the timeline is
// a file that Perfetto reads, packed traces are read as plain ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace replay_test {

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
  const auto point = nlohmann::json::parse(r.out).at("points").at(0);
  EXPECT_EQ(point.at("steps"), 2);
  const auto metric = [&point](const char* name) { return point.at("metrics").at(name); };
  EXPECT_LT(std::abs(metric("replay_error").at("value").get<double>()), 3);
  for (const auto& row : point.at("replay")) {
    if (row.at("name") != "gemm") continue;
    EXPECT_NEAR(row["what_if"]["busy_ms"].get<double>(),
                row["replayed"]["busy_ms"].get<double>() / 2, 1e-5);
  }
  const double time = metric("iteration_time").at("value");
  EXPECT_LT(metric("iteration_time").at("interval90").at(0), time);
  double end = 0;
  const auto drawn = nlohmann::json::parse(read_file(timeline));
  for (const auto& e : drawn.at("traceEvents")) {
    if (e.at("ph") == "X") end = std::max(end, e.at("ts").get<double>() + e["dur"].get<double>());
  }
  EXPECT_LE(end, time * 2 * 1e3 + 0.1);
  EXPECT_GT(end, time * 1.9 * 1e3);
}

// The text with `from` replaced by `to` wherever it occurs.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
    text.replace(i, from.size(), to);
  return text;
}

// The notes of a replay, and the width of the interval of its iteration.
struct Said {
  std::string notes;
  double width = 0;
};
Said said_of(const std::string& arguments) {
  const Result r = run_program("replay " + arguments + " -o json");
  EXPECT_EQ(r.code, 0) << r.err;
  const auto point = nlohmann::json::parse(r.out).at("points").at(0);
  const auto interval = point.at("metrics").at("iteration_time").at("interval90");
  return {point.at("notes").dump(), interval.at(1).get<double>() / interval.at(0).get<double>()};
}

// The products of the trace take 60 and 120 us for 34 GFLOP; in 20 us they are 1.7 times as fast as
// the peak of an H100.
TEST(Replay, KernelsAboveThePeakAreSaidAndWidenTheInterval) {
  const Scratch s;
  const std::string text = read_file(kTrace), other = " --from-gpu h100-sxm -g h200-sxm";
  const Said sound = said_of(kTrace + other);
  const Said fast =
      said_of("'" + s.file("fast.json", replaced(text, "\"dur\": 60.000", "\"dur\": 20.000")) +
              "'" + other);
  EXPECT_EQ(sound.notes.find("faster than the peak"), std::string::npos);
  EXPECT_THAT(fast.notes, HasSubstr("12 kernels"));
  EXPECT_THAT(fast.notes, HasSubstr("faster than the peak of h100-sxm, aten::mm by 1.7 times"));
  EXPECT_GT(fast.width, 1.01 * sound.width);
}

TEST(Replay, CollectivesWithoutSizesAreSaidAndWidenTheInterval) {
  const Scratch s;
  const std::string text = read_file(kTrace);
  const std::string sizes = "\"In msg nelems\": 8388608, \"Out msg nelems\": 8388608, ";
  ASSERT_NE(text.find(sizes), std::string::npos);
  const std::string unsized = "'" + s.file("unsized.json", replaced(text, sizes, "")) + "'";
  for (const char* asked : {" --dp 64 --from-gpu h100-sxm -g h200-sxm"}) {
    const Said with = said_of(kTrace + asked), without = said_of(unsized + asked);
    EXPECT_EQ(with.notes.find("have no sizes"), std::string::npos) << asked;
    EXPECT_THAT(without.notes, HasSubstr("2 collectives have no sizes in the trace")) << asked;
    EXPECT_GE(without.width, with.width) << asked;
  }
}

TEST(Replay, FlagsFilesAndSweepsAskTheSame) {
  const Scratch s;
  const auto times = [](const std::string& command) {
    const Result r = run_program(command + " -o json");
    EXPECT_EQ(r.code, 0) << r.err;
    std::vector<double> out;
    const auto points = nlohmann::json::parse(r.out).at("points");
    for (const auto& p : points) out.push_back(p.at("metrics").at("iteration_time").at("value"));
    return out;
  };
  const std::string both = "replay " + kTrace + " --scale gemm=0.5 --scale cpu=0.5";
  EXPECT_EQ(times(both), times("replay " + kTrace + " --scale gemm=0.5,cpu=0.5"));
  EXPECT_EQ(times(both), times("run " + s.file("both.yaml", "replay: {trace: " + kTrace +
                                                                ", scale: [gemm=0.5, cpu=0.5]}")));
  const std::vector<double> swept = times("replay " + kTrace + " --sweep dp=16,64");
  ASSERT_EQ(swept.size(), 2u);
  EXPECT_EQ(swept, times("replay " + kTrace + " --dp 16,64"));
  EXPECT_EQ(swept.back(), times("replay " + kTrace + " --dp 64").at(0));
  EXPECT_LT(swept.front(), swept.back());
}

TEST(Replay, AScenarioHasTheTraceAndNothingOfAModel) {
  const Scratch s;
  const auto refused = [&](const std::string& text, const std::string& message) {
    const Result r = run_program("run " + s.file("q.yaml", text));
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr(message));
  };
  refused("replay: {dp: 8}", "'trace' is missing");
  refused("replay: {trace: t.json}\nmodel: llama-3-8b", "a scenario with a replay has no such key");
  refused("replay: {trace: t.json, scael: [gemm=2]}", "did you mean 'scale'?");
}

}  // namespace replay_test
}  // namespace orrery::golden
