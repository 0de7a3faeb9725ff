#include "orrery/validate/judge/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace kernels_test {

// A folder with a gemm table of products on several GPUs that take 3 us + 1.3 base, times a factor.
class ValidateKernels : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) / "orrery-validate-kernels-test";
    std::filesystem::create_directories(dir_);
    table_.open(dir_ / "gemm.csv");
    table_ << "system,framework,version,kernel_source,dtype,m,n,k,latency_us\n";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void add(const std::string& system, double factor) {
    const Gpu gpu = Catalog().gpu(system);
    for (std::int64_t n = 256; n <= 32768; n *= 2) {
      for (std::int64_t k = 256; k <= 16384; k *= 2) {
        for (std::int64_t m = 1; m <= 8192; m *= 4) {
          Gemm g;
          g.m = m, g.n = n, g.k = k;
          const double t = 3e-6 + 1.3 * gemm_family().point(g, gpu, true).base.value();
          line(system, "bfloat16", m, n, k, t * 1e6 * factor);
          ++rows_;
        }
      }
    }
  }
  void line(const std::string& system, const std::string& dtype, std::int64_t m, std::int64_t n,
            std::int64_t k, double us) {
    table_ << system << ",vllm,1,default," << dtype << "," << m << "," << n << "," << k << "," << us
           << "\n";
  }
  ErrorReport run(const KernelValidation& options = {}) {
    table_.flush();
    return validate_kernels(dir_, options, Bundle());
  }
  static const ErrorGroup* group(const ErrorReport& r,
                                 const std::map<std::string, std::string>& by) {
    for (const ErrorGroup& g : r.groups) {
      if (g.by == by) return &g;
    }
    return nullptr;
  }

  std::filesystem::path dir_;
  std::ofstream table_;
  std::size_t rows_ = 0;
};

TEST_F(ValidateKernels, JudgesTheRowsThatTheFitLeavesOut) {
  add("h100_sxm", 1);
  table_.flush();
  std::size_t left_out = 0;
  CsvReader csv(dir_ / "gemm.csv");
  while (csv.next()) {
    KernelSample s;
    ASSERT_TRUE(gemm_tables().read(csv, "gemm", s));
    left_out += is_left_out(s);
  }
  ASSERT_GT(left_out, 0u);
  EXPECT_EQ(run().pooled.errors.n, left_out);
  EXPECT_EQ(run({.all_rows = true}).pooled.errors.n, rows_);
}

TEST_F(ValidateKernels, GroupsByTableSystemFrameworkDtypeAndTier) {
  add("h100_sxm", 1);
  add("h200-sxm", 1);  // ids of the catalog are as good as the tables' names
  const ErrorReport r = run({.all_rows = true});
  const ErrorGroup* full = group(r, {{"table", "gemm"},
                                     {"system", "h100_sxm"},
                                     {"framework", "vllm"},
                                     {"dtype", "bfloat16"},
                                     {"tier", "measured"}});
  ASSERT_TRUE(full);
  EXPECT_EQ(full->errors.n, rows_ / 2);
  EXPECT_TRUE(full->detail);
  ASSERT_TRUE(group(r, {{"table", "gemm"}}));
  EXPECT_EQ(group(r, {{"table", "gemm"}})->errors.n, rows_);
  // The roofline has neither the 3 us nor the factor: below every row.
  EXPECT_GT(*r.pooled.roofline, 23);
  EXPECT_LT(*r.pooled.roofline, 100);
  const auto j = to_json(r);
  EXPECT_EQ(j["area"], "kernels");
  EXPECT_EQ(j["rows"], rows_);
  EXPECT_TRUE(j["pooled"].contains("roofline_mape"));
}

TEST_F(ValidateKernels, RefusalsAreGatheredByReason) {
  add("h100_sxm", 1);
  for (int i = 0; i < 5; ++i) line("h100_sxn", "bfloat16", 64, 512, 512 + 64 * i, 9);
  line("h100_sxm", "fp3", 64, 512, 512, 9);
  line("h100_sxm", "bfloat16", 64, 512, 512, 0);
  line("h100_sxm", "bfloat16", 8192, 8192, 8192, 1);  // a petaflop in a microsecond
  const ErrorReport r = run({.all_rows = true});
  EXPECT_EQ(r.pooled.errors.n, rows_);
  ASSERT_EQ(r.refused.size(), 4u);
  EXPECT_EQ(r.refused[0].rows, 5u);
  EXPECT_NE(r.refused[0].why.find("did you mean 'h100-sxm'"), std::string::npos)
      << r.refused[0].why;
  EXPECT_EQ(r.refused[0].row, "gemm:" + std::to_string(rows_ + 2));
  EXPECT_EQ(to_json(r)["refused"][0]["rows"], 5);
  EXPECT_FALSE(to_json(r)["refused"][1].contains("rows"));
}

TEST_F(ValidateKernels, TiersServeOrRefuse) {
  add("h100_sxm", 1);
  const auto tier_of = [&](JudgedTier tier) {
    const ErrorReport r = run({.tier = tier, .all_rows = true});
    for (const ErrorGroup& g : r.groups) {
      if (g.by.contains("tier")) return g.by.at("tier");
    }
    return std::string("refused");
  };
  EXPECT_EQ(tier_of(JudgedTier::kBest), "measured");
  EXPECT_EQ(tier_of(JudgedTier::kTransferred), "transferred");
  EXPECT_EQ(tier_of(JudgedTier::kAnalytical), "analytical");
  table_.close();
  table_.open(dir_ / "gemm.csv", std::ios::trunc);
  table_ << "system,framework,version,kernel_source,dtype,m,n,k,latency_us\n";
  add("rtx-4090", 1);  // no sweep
  EXPECT_EQ(tier_of(JudgedTier::kMeasured), "refused");
}

TEST_F(ValidateKernels, FitOnJudgesTheOtherSystems) {
  add("h100_sxm", 1);
  const std::size_t fitted = rows_;
  add("h200_sxm", 1);
  const ErrorReport r = run({.fit_on = {"h100_sxm"}});
  EXPECT_EQ(r.pooled.errors.n, rows_ - fitted);  // all rows of the other
  EXPECT_FALSE(group(r, {{"table", "gemm"}, {"system", "h100_sxm"}}));
  EXPECT_TRUE(group(r, {{"table", "gemm"}, {"tier", "transferred"}}));
  // The catalog's surfaces are not this table's: only the fit on it comes near.
  EXPECT_LT(r.pooled.errors.mape, 6);
}

TEST_F(ValidateKernels, PointsCalibrateAndDoNotJudge) {
  add("h100_sxm", 1);
  const std::size_t fitted = rows_;
  add("h200_sxm", 1.3);
  const ErrorReport without = run({.fit_on = {"h100_sxm"}});
  const ErrorReport with = run({.fit_on = {"h100_sxm"}, .points = 32});
  EXPECT_EQ(with.pooled.errors.n, rows_ - fitted - 32);
  EXPECT_GT(without.pooled.errors.mape, 15);
  EXPECT_LT(with.pooled.errors.mape, 12);
  EXPECT_THROW(run({.points = 65}), InputError);
}

TEST_F(ValidateKernels, CsvRowsAreHandedOver) {
  add("h100_sxm", 1);
  table_.flush();
  std::size_t n = 0;
  const ErrorReport r =
      validate_kernels(dir_, {.all_rows = true}, Bundle(), [&](const ValidationRow& row) {
        ++n;
        EXPECT_LT(row.low90, row.low50);
        EXPECT_LT(row.low50, row.predicted);
        EXPECT_LT(row.predicted, row.high50);
        EXPECT_EQ(row.by.size(), kernel_row_keys().size());
      });
  EXPECT_EQ(n, r.pooled.errors.n);
}

TEST_F(ValidateKernels, WrongFoldersAndNames) {
  add("h100_sxm", 1);
  EXPECT_THROW(validate_kernels(dir_ / "absent", {}, Bundle()), InputError);
  EXPECT_THROW(run({.fit_on = {"h100_sxn"}}), InputError);
  try {
    run({.table = "gem"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'gemm'"), std::string::npos) << e.what();
  }
  EXPECT_EQ(parse_judged_tier("transferred"), JudgedTier::kTransferred);
  EXPECT_FALSE(parse_judged_tier("transfered"));
}

}  // namespace kernels_test
}  // namespace orrery
