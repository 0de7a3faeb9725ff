// The ratios of the libraries of attention are those of the measured tables.
#include "orrery/kernel/fit/attention_fit.h"

#include <gtest/gtest.h>

#include <string>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace attention_fit_test {

const std::string kTables = ORRERY_SOURCE_DIR "/catalog/measured/h100-sxm-2026-11-26";

TEST(FitAttention, TheCatalogHasWhatTheTablesSay) {
  const FittedAttention fit = fit_attention(kTables, "2026-11-26", Bundle());
  ASSERT_EQ(fit.rows.size(), 3u);  // FlashAttention-2 on Hopper, three head sizes
  int calls = 0;
  for (const FittedAttention::Row& row : fit.rows) {
    EXPECT_EQ(row.backend, "flash2");
    EXPECT_EQ(row.architecture, "hopper");
    EXPECT_LT(row.error, 0.1);  // ratios of one call differ less than its time between machines
    calls += row.calls;
  }
  EXPECT_EQ(calls, 88);
  EXPECT_EQ(fit.yaml, read_text_file(ORRERY_SOURCE_DIR "/catalog/training/attention-fitted.yaml"));
}

TEST(FitAttention, TablesWithoutTwoLibrariesAreRefused) {
  EXPECT_THROW(fit_attention(ORRERY_SOURCE_DIR "/docs", "2026-11-26", Bundle()), InputError);
}

}  // namespace attention_fit_test
}  // namespace orrery
