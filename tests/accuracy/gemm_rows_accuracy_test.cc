// Products of twice the rows: no column of a sweep that the fit reads is slower than that of twice
// the rows, which reads hardly more bytes, and predictions hardly ever are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "tests/accuracy/kernel_tables.h"

namespace orrery {
namespace gemm_rows_accuracy_test {

double middle(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// The rows that the fit reads hold no column of which half of the shapes take a quarter longer than
// twice the rows: such a column is a fault of the sweep (gemm_tables.cc leaves it out).
TEST(GemmRows, NoColumnOfTheSweepsIsBad) {
  const std::filesystem::path data = kernel_tables();
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  std::vector<std::string> refused;
  std::size_t columns = 0;
  for (const auto& [of, classes] :
       read_samples(data, tables_of(gemm_family()), Catalog(), refused)) {
    for (const auto& [name, samples] : classes) {
      std::map<std::tuple<double, double, double>, double> at;
      for (const MeasuredPoint& p : samples.points) at[{p.x[0], p.x[1], p.x[2]}] = p.time;
      std::map<double, std::vector<double>> slower;  // by log2 of the rows
      for (const auto& [place, time] : at) {
        const auto& [m, n, k] = place;
        const auto twice = at.find({m + 1, n, k});
        if (m <= 4 && twice != at.end()) slower[m].push_back(time / twice->second);
      }
      for (const auto& [m, ratios] : slower) {
        if (ratios.size() < 30) continue;
        ++columns;
        EXPECT_LT(middle(ratios), 1.25)
            << of.first << " " << of.second << " " << name << ", " << std::exp2(m) << " rows";
      }
    }
  }
  EXPECT_GT(columns, 200u);
}

// Products of the catalog's sweeps, as steps ask for them (operands from memory). A fall by more
// than a tenth at a doubling is a step of the kernels or noise of a sweep; it is rare, and never
// deep at one row.
TEST(GemmRows, PredictionsOfTwiceTheRowsAreNotFaster) {
  struct Count {
    int pairs = 0, falls = 0;
    double deepest = 1, deepest_of_one = 1;
  };
  Count all;
  for (const char* framework : {"vllm", "sglang", "trtllm"}) {
    for (const char* id : {"a100-80g-sxm", "l40s", "h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm",
                           "gb200", "gb300", "rtx-pro-6000-server"}) {
      const auto model = make_kernel_model(Catalog().gpu(id), kernels_of(framework), Bundle());
      for (const Format format : {Format::kBf16, Format::kFp8, Format::kFp8Block, Format::kNvfp4,
                                  Format::kInt4Weight, Format::kMxfp4}) {
        for (const int n : {1280, 4096, 8192, 28672}) {
          for (const int k : {1024, 4096, 8192}) {
            double before = 0;
            for (int m = 1; m <= 4096; m *= 2) {
              Gemm g;
              g.m = m, g.n = n, g.k = k, g.format = format;
              const double time = model->predict(g).time.value.value();
              if (m > 1) {
                ++all.pairs;
                all.falls += time < 0.9 * before;
                all.deepest = std::min(all.deepest, time / before);
                if (m == 2) all.deepest_of_one = std::min(all.deepest_of_one, time / before);
              }
              before = time;
            }
          }
        }
      }
    }
  }
  fmt::print("{} doublings, {} fall by more than a tenth, to {:.2f} at most, of one row {:.2f}\n",
             all.pairs, all.falls, all.deepest, all.deepest_of_one);
  EXPECT_LE(all.falls, 0.02 * all.pairs);
  EXPECT_GE(all.deepest, 0.6);
  EXPECT_GE(all.deepest_of_one, 0.75);
}

}  // namespace gemm_rows_accuracy_test
}  // namespace orrery
