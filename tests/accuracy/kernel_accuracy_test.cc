// Errors of kernel times on the rows that the fit left out, for each table. Skipped where the
// tables are absent. The bounds are the errors that were reached, rounded up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "orrery/validate/judge/kernels.h"
#include "tests/accuracy/kernel_tables.h"

namespace orrery {
namespace kernel_accuracy_test {

struct Reached {
  const char* table;
  double mape, median;         // percent, at most
  double in_50[2] = {42, 58};  // percent of the rows in the intervals
  double in_90[2] = {85, 95};
};

constexpr std::array<Reached, 12> kReached = {{
    {"attention_decode", 3.7, 2.0},
    {"attention_encoder", 6.7, 4.0},
    {"attention_prefill", 7.1, 2.2, {42, 58}, {84.5, 95}},
    {"gemm", 6.0, 2.5, {42, 58}, {84.5, 95}},
    {"linear_attention", 5.6, 2.4},
    {"mla_bmm", 5.8, 3.7},
    {"mla_kernel", 5.2, 2.3},
    {"mla_module", 2.2, 1.5},
    {"moe", 5.5, 3.0},
    {"moe_wideep", 9.0, 5.6},
    {"quantize", 3.5, 2.1},
    {"sparse_attention_module", 14.3, 6.5},
}};

TEST(KernelAccuracy, RowsLeftOut) {
  const std::filesystem::path data = kernel_tables();
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is absent: no measured rows to compare with";
  for (const Reached& r : kReached) {
    KernelValidation options;
    options.table = r.table;
    const ErrorSummary s = validate_kernels(data, options, Bundle()).pooled.errors;
    fmt::print(
        "{}: {} rows, MAPE {:.2f}, median {:.2f}, bias {:+.2f} %, in 50 / 90 %: {:.1f} / {:.1f}\n",
        r.table, s.n, s.mape, s.median, s.bias, s.coverage50, s.coverage90);
    EXPECT_GT(s.n, 1000u) << r.table;
    EXPECT_LE(s.mape, r.mape) << r.table;
    EXPECT_LE(s.median, r.median) << r.table;
    EXPECT_GE(s.coverage50, r.in_50[0]) << r.table;
    EXPECT_LE(s.coverage50, r.in_50[1]) << r.table;
    EXPECT_GE(s.coverage90, r.in_90[0]) << r.table;
    EXPECT_LE(s.coverage90, r.in_90[1]) << r.table;
  }
}

}  // namespace kernel_accuracy_test
}  // namespace orrery
