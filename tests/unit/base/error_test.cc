#include "orrery/base/error.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace error_test {

const std::vector<std::string> kGpus = {"a100-80g-sxm", "h100-sxm", "h100-pcie",
                                        "h200",         "l40s",     "mi300x"};

TEST(NearestName, TyposCaseAndSeparators) {
  EXPECT_EQ(nearest_name("h100-smx", kGpus), "h100-sxm");
  EXPECT_EQ(nearest_name("H100_PCIE", kGpus), "h100-pcie");
  EXPECT_EQ(nearest_name("a100-80g", kGpus), "a100-80g-sxm");
  EXPECT_EQ(nearest_name("h100", kGpus), "h100-sxm");
  EXPECT_EQ(nearest_name("llama-3-8bb", std::vector<std::string>{"llama3-8b", "llama-3-8b"}),
            "llama-3-8b");
  EXPECT_EQ(nearest_name("h100", std::vector<std::string>{"h100-pcie", "h100-sxm"}), "h100-sxm");
  EXPECT_EQ(nearest_name("mi300", kGpus), "mi300x");
  EXPECT_EQ(did_you_mean("l40", kGpus), " (did you mean 'l40s'?)");
}

TEST(NearestName, NothingIsNear) {
  EXPECT_EQ(nearest_name("tpu-v5e-pod", kGpus), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'h'), kGpus), "");
  EXPECT_EQ(did_you_mean("zzzzzz", kGpus), "");
  EXPECT_EQ(nearest_name("h100", {}), "");
}

TEST(CanonicalName, LowerCaseWithHyphens) {
  EXPECT_EQ(canonical_name("H100_SXM-80"), "h100-sxm-80");
}

}  // namespace error_test
}  // namespace orrery
