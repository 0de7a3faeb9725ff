#include "orrery/validate/report/report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace report_test {

ValidationRow row(const std::string& metric, double measured, double predicted, double low90,
                  double high90) {
  return {{{"table", "t"}, {"metric", metric}, {"system", "h100"}, {"fitted", "no"}},
          "ref",
          measured,
          predicted,
          predicted,
          predicted,
          low90,
          high90,
          Origin::kMeasured};
}

TEST(Report, ErrorsByHand) {
  const ValidationRow a = row("decode", 100, 110, 90, 120), b = row("decode", 100, 80, 70, 90),
                      c = row("decode", 50, 50, 50, 50);
  const ErrorSummary s = summarise({&a, &b, &c});
  EXPECT_EQ(s.n, 3u);
  EXPECT_NEAR(s.mape, 10, 1e-12);  // 10, 20, 0
  EXPECT_NEAR(s.median, 10, 1e-12);
  EXPECT_NEAR(s.p90, 18, 1e-12);  // between 10 and 20
  EXPECT_NEAR(s.bias, -10.0 / 3, 1e-12);
  EXPECT_NEAR(s.coverage90, 200.0 / 3, 1e-9);  // a and c
  EXPECT_NEAR(s.coverage50, 100.0 / 3, 1e-9);  // c alone
}

TEST(Report, JsonHasTheAgreedForm) {
  ValidationReport report;
  report.area = "inference";
  report.rows = {row("decode", 100, 110, 90, 120), row("prefill", 10, 10, 9, 11)};
  report.refused = {{"r7", "no engine"}};
  const auto j = to_json(report);
  EXPECT_EQ(j["area"], "inference");
  EXPECT_EQ(j["rows"], 2);
  EXPECT_EQ(j["refused"][0]["row"], "r7");
  EXPECT_EQ(j["refused"][0]["why"], "no engine");
  EXPECT_EQ(j["pooled"]["n"], 2);
  EXPECT_DOUBLE_EQ(j["pooled"]["mape"].get<double>(), 5);
  for (const char* key : {"n", "mape", "median", "p90", "bias", "coverage50", "coverage90"}) {
    EXPECT_TRUE(j["pooled"].contains(key)) << key;
  }
  bool found = false;
  for (const auto& g : j["groups"]) {
    if (g["by"] == nlohmann::ordered_json{{"metric", "decode"}, {"table", "t"}}) {
      found = true;
      EXPECT_EQ(g["n"], 1);
    }
  }
  EXPECT_TRUE(found);
}

// A baseline's errors do not mix with ours: 10 % of the one row is ours, 50 % the baseline's.
TEST(Report, PredictorsArePooledOneByOne) {
  ValidationReport report;
  report.area = "network";
  report.rows = {row("small", 100, 110, 110, 110), row("small", 100, 150, 150, 150)};
  report.rows[0].by["table"] = "orrery", report.rows[1].by["table"] = "alpha-beta";
  const ErrorReport g = grouped(report);
  EXPECT_EQ(g.pooled.errors.n, 1u);
  EXPECT_NEAR(g.pooled.errors.mape, 10, 1e-9);
  ASSERT_EQ(g.others.size(), 1u);
  EXPECT_EQ(g.others[0].by.at("predictor"), "alpha-beta");
  EXPECT_NEAR(g.others[0].errors.mape, 50, 1e-9);
  const auto j = to_json(report);
  EXPECT_EQ(j["rows"], 1);
  EXPECT_EQ(j["others"][0]["by"]["predictor"], "alpha-beta");
  EXPECT_NE(to_markdown(g).find("| all, alpha-beta | 1 | 50.0"), std::string::npos);
  // Elsewhere a table is a table, and `predictor` says who.
  report.area = "neusight";
  EXPECT_EQ(grouped(report).pooled.errors.n, 2u);
  report.rows[1].by["predictor"] = "NeuSight";
  EXPECT_EQ(grouped(report).pooled.errors.n, 1u);
}

TEST(Report, AbsentTablesAreNoted) {
  ValidationReport report;
  EXPECT_TRUE(has_table(ORRERY_SOURCE_DIR, report));
  EXPECT_TRUE(report.skipped.empty());
  EXPECT_FALSE(has_table("/nowhere/peer_calculon.csv", report));
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_NE(report.skipped[0].find("peer_calculon.csv"), std::string::npos);
  EXPECT_EQ(to_json(report)["skipped"].size(), 1u);
  EXPECT_NE(to_markdown(grouped(report)).find("peer_calculon.csv"), std::string::npos);
}

TEST(Report, CsvQuotesWhatNeedsIt) {
  ValidationReport report;
  report.rows = {row("decode", 100, 110, 90, 120)};
  report.rows[0].row = "a,\"b\"";
  std::string csv = CsvRows("inference", {"table"}).line(report.rows[0]);
  EXPECT_NE(csv.find("\"a,\"\"b\"\"\",100,110,"), std::string::npos) << csv;
}

TEST(Report, CsvAndCasesKeepEveryDigit) {
  ValidationReport report;
  report.area = "accelerator";
  report.rows = {row("decode", 123456.7890123, 123456.7890124, 123000.123, 124000)};
  report.rows[0].row = "case 1";
  report.rows[0].peers["other"] = 1e-9 / 3;
  const std::string csv = CsvRows("accelerator", {}).line(report.rows[0]);
  EXPECT_NE(csv.find("case 1,123456.7890123,123456.7890124,"), std::string::npos) << csv;
  const auto cases = nlohmann::json::parse(to_json_with_rows(report).dump())["cases"];
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0]["row"], "case 1");
  EXPECT_EQ(cases[0]["by"]["metric"], report.rows[0].by["metric"]);
  EXPECT_EQ(cases[0]["measured"].get<double>(), 123456.7890123);
  EXPECT_EQ(cases[0]["predicted"].get<double>(), 123456.7890124);
  EXPECT_EQ(cases[0]["peers"]["other"].get<double>(), 1e-9 / 3);
}

}  // namespace report_test
}  // namespace orrery
