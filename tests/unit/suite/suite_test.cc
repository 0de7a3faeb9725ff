#include "orrery/suite/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/suite/suite_coverage.h"
#include "orrery/suite/suite_score.h"
#include "tests/refusal.h"

namespace orrery {
namespace suite_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Suites : public testing::Test {
 protected:
  Suites() : folder_(fs::temp_directory_path() / "orrery_suite_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file("one.yaml", "hardware: {gpu: h100-sxm}\ncollective: {bytes: [1 MiB, 1 GiB], gpus: 8}\n");
    file("none.yaml", "hardware: {gpu: h100-sxn}\ncollective: {gpus: 8}\n");
  }
  ~Suites() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Suite suite(const std::string& questions) const {
    return read_suite(file("suite.yaml", "suite: mine\nquestions:\n" + questions), Bundle());
  }
  std::string refusal(const std::string& questions) const {
    return refusal_of([&] { suite(questions); });
  }
  std::vector<SuiteOutcome> run(const std::string& questions, SuiteOptions options = {}) const {
    Runner runner{Bundle()};
    return run_suite(suite(questions), runner, options, [] { return 0.0; });
  }

  fs::path folder_;
};

TEST_F(Suites, StatusFollowsMetricsAndChecks) {
  const auto outcomes =
      run("- {id: A, question: q, run: one, metrics: {time: last(it.time)}, checks: {c: "
          "rising(it.time)}}\n"
          "- {id: B, question: q, run: one, metrics: {time: first(it.time)}, checks: {c: it.time < "
          "0, d: it.time > 0}}\n"
          "- {id: C, question: q, run: one, metrics: {time: it.tiem}}\n"
          "- {id: D, question: q, runs: {a: one, b: none}, metrics: {t: a.time, u: b.time}, "
          "checks: {c: b.time > 0}}\n");
  using Status = SuiteOutcome::Status;
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_EQ(outcomes[0].status, Status::kPass);
  EXPECT_EQ(outcomes[1].status, Status::kFail);
  EXPECT_EQ(outcomes[1].checks[0].status, Status::kFail);
  EXPECT_EQ(outcomes[1].checks[1].status, Status::kPass);
  EXPECT_EQ(outcomes[2].status, Status::kUnanswered);
  EXPECT_THAT(outcomes[2].metrics[0].why, HasSubstr("did you mean 'time'"));
  EXPECT_EQ(outcomes[3].status, Status::kUnanswered);
  EXPECT_TRUE(outcomes[3].metrics[0].figure);
  EXPECT_THAT(outcomes[3].checks[0].seen, HasSubstr("did you mean 'h100-sxm'"));
  const nlohmann::ordered_json json = to_json(outcomes);
  EXPECT_EQ(json["scenarios"][0]["status"], "pass");
  EXPECT_EQ(json["scenarios"][0]["metrics"]["time"]["unit"], "us");
  EXPECT_TRUE(json["scenarios"][0]["metrics"]["time"].contains("interval90"));
  EXPECT_EQ(json["scenarios"][3]["status"], "unanswered");
}

TEST_F(Suites, OnlyTheQuestionsAskedFor) {
  SuiteOptions options;
  options.only = {"B"};
  const auto outcomes =
      run("- {id: A1, question: q, run: none, metrics: {t: it.time}}\n"
          "- {id: B1, question: q, run: one, metrics: {t: it.time}}\n",
          options);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].id, "B1");
}

TEST_F(Suites, BadFilesAreRefusedWhereTheyAreWrong) {
  EXPECT_THAT(refusal("- {id: A, question: q, run: one}\n"), HasSubstr("'metrics' is missing"));
  EXPECT_THAT(refusal("- {id: A, question: q, metrics: {t: it.time}}\n"), HasSubstr("'run'"));
  EXPECT_THAT(refusal("- {question: q, run: one, metrics: {t: it.time}}\n"), HasSubstr("'id'"));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, metrics: {t: it.time <}}\n"),
              AllOf(HasSubstr("suite.yaml:3"), HasSubstr("column 10")));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, metrics: {t: it.time < 3}}\n"),
              HasSubstr("a metric must be a number"));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, metrics: {t: it.time}, checks: {c: 3}}\n"),
              HasSubstr("a check must be a condition"));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, metrics: {t: at.time}}\n"),
              HasSubstr("no run is called 'at'"));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, runs: {a: one}, metrics: {t: 1}}\n"),
              HasSubstr("got both"));
  EXPECT_THAT(refusal("- {id: A, question: q, run: one, metric: {t: 1}}\n"),
              HasSubstr("did you mean 'metrics'"));
  const std::string same = "- {id: A, question: q, run: one, metrics: {t: it.time}}\n";
  EXPECT_THAT(refusal(same + same), HasSubstr("a second question 'A'"));
  EXPECT_THROW(read_suite("suite54", Bundle()), InputError);
}

TEST_F(Suites, CoverageNamesQuestionsOfTheSuite) {
  const Suite s = suite(
      "- {id: A, question: q, run: one, metrics: {t: it.time}}\n"
      "- {id: B, question: q, runs: {a: one, b: none}, metrics: {t: a.time, u: b.time}}\n");
  Runner runner{Bundle()};
  const ToolCoverage own = own_coverage(s, run_suite(s, runner, {}, [] { return 0.0; }));
  EXPECT_THAT(own.full, ElementsAre("A"));
  EXPECT_THAT(own.partial, ElementsAre("B"));
  const auto read = [&](const std::string& keys) {
    return read_coverage(parse_yaml("{tool: x, suite: mine, source: s, " + keys + "}", "t.yaml"),
                         s);
  };
  EXPECT_FALSE(read("full: [A]").published);
  EXPECT_THROW(read("full: [A], partial: [A]"), InputError);
  EXPECT_THROW(read("full: [Z]"), InputError);
}

TEST_F(Suites, OtherToolsAreScoredByRowsAndByChecks) {
  file("rows.csv", "source_ref,ttft_ms\nr1,100\nr2,200\nr3,\n");
  file("peer_x.csv", "source_ref,ttft_ms\nr3,5\n");  // no measurement
  const std::string predictions =
      file("p.csv",
           "scenario,metric,value,low90,high90,at\n"
           "r1,ttft_ms,110,90,130,\nr2,ttft_ms,150,140,160,\nr3,ttft_ms,7,,,\n"
           "one,time,5,,,bytes=1\none,time,4,,,bytes=2\n");
  const Suite s = suite(
      "- {id: A, question: q, run: one, metrics: {t: it.time}, checks: {up: rising(it.time), "
      "second: 'it[bytes=2].time < 4.5', other: it.busbw > 0}}\n"
      "- {id: B, question: q, run: none, metrics: {t: it.time}}\n");
  ToolCoverage declared;
  declared.suite = "mine", declared.full = {"A", "B"};
  Runner runner{Bundle()};
  const ToolScore t = score(read_predictions(predictions), folder_, {s}, &declared, runner);
  const ErrorSummary& e = t.by_metric.at("ttft_ms");
  EXPECT_EQ(e.n, 2u);
  EXPECT_NEAR(e.mape, (10 + 25) / 2.0, 1e-4);
  EXPECT_NEAR(e.bias, (10 - 25) / 2.0, 1e-4);
  EXPECT_EQ(e.coverage90, 50);
  EXPECT_EQ(t.unmatched, 3u);      // r3, and two sizes that the file does not ask for
  ASSERT_EQ(t.checks.size(), 2u);  // busbw is not predicted
  EXPECT_FALSE(t.checks[0].holds);
  EXPECT_TRUE(t.checks[1].holds);
  EXPECT_THAT(t.silent, ElementsAre("B"));
  EXPECT_THROW(read_predictions(file("bad.csv", "scenario,metric\n")), InputError);
  EXPECT_THROW(read_predictions(file("bad2.csv", "scenario,metric,value\na,b,x\n")), InputError);
}

// 1 MiB and 1 GiB over eight H100: at 450 GB/s each way 7/8 of the bytes take 2.0 us and 2.1 ms.
TEST_F(Suites, ValuesOutsideOfPhysicalBoundsAreFound) {
  const Suite s = suite(
      "- id: A\n  question: q\n  run: one\n"
      "  metrics: {t: it.time, least: first(it.time) / 1000 as ms, gain: last(it.time) / "
      "first(it.time)}\n"
      "  bounds: {gain: {high: last(it.at.bytes) / first(it.at.bytes), why: no faster a byte}}\n");
  Runner runner{Bundle()};
  const auto places = [&](const std::string& rows) {
    const std::string csv = file("p.csv", "scenario,metric,value,at\n" + rows);
    std::vector<ToolScore::Place> out;
    for (const auto& b : score(read_predictions(csv), {}, {s}, nullptr, runner).bounded)
      out.push_back(b.place);
    return out;
  };
  using Place = ToolScore::Place;
  // Bounds come from the question, with arithmetic (microseconds to milliseconds), and from the
  // file.
  EXPECT_THAT(places("A,t,1,bytes=1048576\nA,t,500,bytes=1048576\n"),
              ElementsAre(Place::kBelow, Place::kInside));
  EXPECT_THAT(places("A,t,1000,bytes=1073741824\nA,t,9000,bytes=1073741824\n"),
              ElementsAre(Place::kBelow, Place::kInside));
  EXPECT_THAT(places("A,least,0.001,\nA,least,0.5,\n"), ElementsAre(Place::kBelow, Place::kInside));
  EXPECT_THAT(places("one,time,1,bytes=1048576\none,busbw,900,bytes=1073741824\n"),
              ElementsAre(Place::kBelow, Place::kAbove));
  EXPECT_THAT(places("A,gain,1025,\nA,gain,1000,\nA,gain,-1,\n"),
              ElementsAre(Place::kAbove, Place::kInside, Place::kBelow));
  EXPECT_THAT(places("A,nothing,1,\none,nothing,1,\none,time,1,bytes=7\n"), ElementsAre());
  const ToolScore t =
      score(read_predictions(file("p.csv", "scenario,metric,value,at\nA,t,1,bytes=1048576\n")), {},
            {s}, nullptr, runner);
  EXPECT_THAT(t.bounded.at(0).range.low_why, HasSubstr("links"));
  const ToolScore gain = score(read_predictions(file("p.csv", "scenario,metric,value\nA,gain,9\n")),
                               {}, {s}, nullptr, runner);
  ASSERT_EQ(gain.covered.size(), 1u);
  EXPECT_EQ(gain.covered[0].predicted, 1u);
  EXPECT_EQ(gain.covered[0].metrics, 3u);
}

// The program's own answers, scored as a tool's predictions, lie inside their bounds.
TEST_F(Suites, OwnAnswersAreInsideOfTheirBounds) {
  const std::string questions =
      "- {id: A, question: q, run: one, metrics: {t: it.time, r: last(it.busbw)}, checks: {up: "
      "rising(it.time)}}\n";
  const Suite s = suite(questions);
  Runner runner{Bundle()};
  const std::string json = file("run.json", to_json(run(questions)).dump());
  const ToolScore t = score(read_predictions(json), {}, {s}, nullptr, runner);
  EXPECT_EQ(t.bounded.size(), 3u);
  EXPECT_EQ(t.count(ToolScore::Place::kInside), 3u);
  EXPECT_EQ(t.unmatched, 0u);
  ASSERT_EQ(t.checks.size(), 1u);  // t is the file's time as it stands
  EXPECT_TRUE(t.checks[0].holds);
  EXPECT_TRUE(t.covered.at(0).full());
}

TEST_F(Suites, BoundsNameCountsOnly) {
  const auto with = [&](const std::string& bounds) {
    return refusal("- {id: A, question: q, run: one, metrics: {t: it.time}, bounds: {" + bounds +
                   "}}\n");
  };
  EXPECT_EQ(with("t: {low: it.at.bytes / 450e9, why: links}"), "");
  EXPECT_THAT(with("t: {low: first(it.time), why: x}"), HasSubstr("not of what is predicted"));
  EXPECT_THAT(with("t: {low: 1 < 2, why: x}"), HasSubstr("not of what is predicted"));
  EXPECT_THAT(with("u: {low: 1, why: x}"), HasSubstr("no metric is called 'u'"));
  EXPECT_THAT(with("t: {low: 1}"), HasSubstr("why"));
}

}  // namespace suite_test
}  // namespace orrery
