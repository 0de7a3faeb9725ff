#include "orrery/validate/report/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace baseline_test {

using testing::HasSubstr;

ValidationRow row(const std::string& table, int line, double measured, double predicted) {
  ValidationRow r;
  r.by = {{"table", table}, {"metric", "tpot"}};
  r.row = table + ":" + std::to_string(line) + " of somebody";
  r.measured = measured, r.predicted = predicted;
  r.low50 = r.low90 = 0.9 * predicted;
  r.high50 = r.high90 = 1.1 * predicted;
  return r;
}

class BaselineFile : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::path(testing::TempDir()) / "orrery-baseline-test.csv";
  }
  void TearDown() override { std::filesystem::remove(file_); }
  void write(const std::string& text) { std::ofstream(file_) << text; }
  void write(const std::vector<ValidationRow>& rows) {
    CsvRows csv("area", {"table", "metric"});
    std::string text = CsvRows::header({"table", "metric"});
    for (const ValidationRow& r : rows) text += csv.line(r);
    write(text);
  }
  std::vector<TableChange> against(const std::vector<ValidationRow>& now) {
    BaselineComparison c("area", read_baseline(file_)["area"]);
    for (const ValidationRow& r : now) c.add(r);
    return c.changes();
  }
  std::string refused() {
    return refusal_of([&] { read_baseline(file_); });
  }
  std::filesystem::path file_;
};

TEST_F(BaselineFile, KeysNameARowWithoutWhatABuildDecides) {
  CsvRows csv("area", {});
  ValidationRow r = row("t", 3, 1, 1);
  EXPECT_EQ(csv.key(r), "area/t/tpot/t:3");
  r.by["tier"] = "fitted", r.by["engine"] = "vllm";
  EXPECT_EQ(csv.key(r), "area/t/tpot/t:3#2");  // the same row again
  r.by["predictor"] = "them";
  EXPECT_EQ(csv.key(r), "area/t/tpot/them/t:3");
}

TEST_F(BaselineFile, TheSamePredictionsAreNoChange) {
  const std::vector<ValidationRow> rows = {row("t", 1, 100.0 / 3, 200.0 / 7), row("t", 2, 10, 11)};
  write(rows);
  const std::vector<TableChange> changes = against(rows);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].same());
  EXPECT_EQ(changes[0].rows, 2u);
}

TEST_F(BaselineFile, AMeasuredValueOfSixDigitsIsTheSameRow) {
  write(CsvRows::header({}) + "area/t/tpot/t:1,t:1,33.3333,28,1,30,1,30,fitted,,\n");
  const TableChange c = against({row("t", 1, 100.0 / 3, 28)}).at(0);
  EXPECT_EQ(c.rows, 1u);
  EXPECT_TRUE(c.same());
}

TEST_F(BaselineFile, ChangesByHand) {
  write({row("t", 1, 100, 100), row("t", 2, 100, 80), row("t", 3, 100, 120), row("t", 4, 100, 50),
         row("u", 1, 7, 7)});
  const std::vector<TableChange> changes =
      against({row("t", 1, 100, 100.05), row("t", 2, 100, 100), row("t", 3, 100, 90),
               row("t", 5, 100, 100), row("u", 1, 7, 7)});
  ASSERT_EQ(changes.size(), 2u);
  const TableChange& t = changes[0];
  EXPECT_EQ(t.table, "t");
  EXPECT_EQ(t.rows, 3u);
  EXPECT_EQ(t.changed, 2u);  // 0.05 % is none
  EXPECT_EQ(t.gained, 1u);
  EXPECT_EQ(t.lost, 1u);
  EXPECT_NEAR(t.median, 25, 1e-9);  // +25 and -25
  EXPECT_NEAR(t.largest, 25, 1e-9);
  EXPECT_NEAR(t.before.mape, (0 + 20 + 20) / 3.0, 1e-9);
  EXPECT_NEAR(t.after.mape, (0.05 + 0 + 10) / 3, 1e-9);
  ASSERT_EQ(t.most.size(), 2u);
  EXPECT_EQ(t.most[0].key, "area/t/tpot/t:2");
  EXPECT_NEAR(t.most[1].change(), -25, 1e-9);
  EXPECT_TRUE(changes[1].same());
}

// A chosen layout that does not fit serves nothing.
TEST_F(BaselineFile, PredictionsOfZeroAreRead) {
  write({row("t", 1, 100, 0), row("t", 2, 100, 0), row("t", 3, 100, 10)});
  const TableChange t =
      against({row("t", 1, 100, 0), row("t", 2, 100, 7), row("t", 3, 100, 0)}).at(0);
  EXPECT_EQ(t.rows, 3u);
  EXPECT_EQ(t.changed, 2u);
  EXPECT_NEAR(t.largest, 100, 1e-9);
  EXPECT_NEAR(t.most[0].change(), 100, 1e-9);
  EXPECT_NEAR(t.most[1].change(), -100, 1e-9);
  write(CsvRows::header({}) + "area/t/t:1,t:1,1,-2,1,3,1,3,fitted,,\n");
  EXPECT_THAT(refused(), HasSubstr("predicted"));
}

TEST_F(BaselineFile, ARowMeasuredOtherwiseIsAnother) {
  write({row("t", 1, 100, 100)});
  const TableChange c = against({row("t", 1, 101, 100)}).at(0);
  EXPECT_EQ(c.gained, 1u);
  EXPECT_EQ(c.lost, 1u);
  EXPECT_EQ(c.rows, 0u);
}

TEST_F(BaselineFile, BadFilesEndInOneMessageWithThePlace) {
  write(std::string("measured,predicted\n1,2\n"));
  EXPECT_THAT(refused(), HasSubstr("key"));
  const std::string head = CsvRows::header({});
  write(head);
  EXPECT_THAT(refused(), HasSubstr("no rows"));
  write(head + "area/t/t:1,t:1,1,2,1,3,1,3,fitted,,\narea/t/t:2,t:2,1,many,1,3,1,3,fitted,,\n");
  EXPECT_THAT(refused(), HasSubstr(":3"));
  EXPECT_THAT(refused(), HasSubstr("predicted"));
  write(head + "area/t/t:1,t:1,1,2,1,3,1,3,fitted,,\narea/t/t:1,t:1,1,2,1,3,1,3,fitted,,\n");
  EXPECT_THAT(refused(), HasSubstr("twice"));
  write(head + "t:1,t:1,1,2,1,3,1,3,fitted,,\n");
  EXPECT_THAT(refused(), HasSubstr("kernels/gemm/gemm:12"));
  write(head + "area/t/t:1,t:1,0,2,1,3,1,3,fitted,,\n");
  EXPECT_THAT(refused(), HasSubstr("above 0"));
}

}  // namespace baseline_test
}  // namespace orrery
