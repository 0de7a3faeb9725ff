// Errors on measured training iterations, each predicted by constants that were fitted without its
// source. Skipped where the tables are absent. The bounds are the errors that were reached, rounded
// up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/data_folder.h"
#include "orrery/validate/judge/training.h"

namespace orrery {
namespace training_accuracy_test {

TEST(TrainingAccuracy, SourcesLeftOut) {
  const std::filesystem::path data = data_folder() / "training";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  const TrainingValidation v = validate_training(data, "", Bundle());
  const auto errors = [&](const std::string& table, const std::string& rows) {
    for (const ErrorGroup& g : v.errors.groups)
      if (g.by.at("table") == table && g.by.at("rows") == rows) return g.errors;
    ADD_FAILURE() << "no group " << table << ", " << rows;
    return ErrorSummary();
  };
  const auto bounded = [&](const std::string& table, const std::string& rows, std::size_t least,
                           double median, double mape) {
    const ErrorSummary s = errors(table, rows);
    fmt::print("{}, {}: {} rows, median {:.1f} %, MAPE {:.1f} %, bias {:+.1f} %, inside 90 %: {}\n",
               table, rows, s.n, s.median, s.mape, s.bias, s.coverage90);
    EXPECT_GE(s.n, least) << rows;
    EXPECT_LE(s.median, median) << rows;
    EXPECT_LE(s.mape, mape) << rows;
  };
  bounded("left-out source", "all", 820, 6.9, 9.9);
  bounded("left-out source", "covered, dense", 480, 6.3, 8.4);
  bounded("left-out source", "covered, moe", 60, 7.8, 11.7);
  bounded("left-out source", "not covered", 240, 9.6, 12.6);
  bounded("three own rows", "all", 5000, 4.9, 8.0);
  bounded("three own rows", "trusted", 5000, 4.8, 7.6);
  bounded("mlperf", "all", 120, 9.7, 12.4);
  // The 90 % intervals cover nine tenths of the left-out rows, also in the groups that extrapolate
  // more.
  for (const char* rows :
       {"all", "covered, dense", "covered, moe", "not covered", "trusted", "layout: TP and PP",
        "layout: EP", "layout: FSDP", "layout: DP", "layout: PP"}) {
    const double inside = errors("left-out source", rows).coverage90;
    fmt::print("inside 90 % intervals, {}: {:.0f} %\n", rows, inside);
    EXPECT_GE(inside, 85) << rows;
  }
  EXPECT_LE(errors("left-out source", "all").coverage90, 95);
  fmt::print("pairs in order: {:.1f} %, {:.1f} % of those that differ; Calculon's rows: {:.2f} %\n",
             v.all_pairs.percent(), v.distinct_pairs.percent(), v.orrery_mape());
  EXPECT_GE(v.all_pairs.percent(), 87);
  EXPECT_GE(v.distinct_pairs.percent(), 90);
  EXPECT_EQ(v.peers.size(), 8u);
  EXPECT_LE(v.orrery_mape(), 2);
}

}  // namespace training_accuracy_test
}  // namespace orrery
