#include "orrery/validate/fit/service_folds.h"

#include <gtest/gtest.h>

#include "orrery/network/fit/joined_texts.h"

namespace orrery {
namespace service_folds_test {

const std::map<std::string, std::string> kFolds = {
    {"llama-3-8b on h100-sxm", "execution:\n  launch: 7 us\n"},
    {"qwen3-32b on h200-sxm", "execution:\n  launch: 9 us\nstep_error: 0.2\n"}};

TEST(ServiceFolds, TextIsReadBackAsItWasWritten) {
  EXPECT_EQ(split_texts("# A comment.\n" + joined_texts(kFolds)), kFolds);
  EXPECT_TRUE(split_texts("").empty());
}

TEST(ServiceFolds, ReplaceTheConstantsOfTheirClassAlone) {
  const Bundle bundle = Bundle().replacing(
      "engines/folds", {{"engines/folds/vllm-hopper.yaml", joined_texts(kFolds)}});
  const auto without = bundle_without(bundle, "vllm", "hopper", "qwen3-32b on h200-sxm");
  ASSERT_TRUE(without);
  const auto text = [](const Bundle& b, const char* name) {
    return std::string(b.find(std::string("engines/fitted/") + name)->content);
  };
  EXPECT_EQ(text(*without, "vllm-hopper.yaml"), kFolds.at("qwen3-32b on h200-sxm"));
  EXPECT_EQ(text(*without, "vllm-blackwell.yaml"), text(bundle, "vllm-blackwell.yaml"));
  EXPECT_EQ(text(*without, "llama-cpp.yaml"), text(bundle, "llama-cpp.yaml"));
}

TEST(ServiceFolds, GroupsThatNoFitSawHaveNone) {
  const Bundle bundle = Bundle().replacing("engines/folds", {});
  EXPECT_FALSE(bundle_without(bundle, "vllm", "hopper", "llama-3-8b on h100-sxm"));
  EXPECT_FALSE(bundle_without(Bundle(), "vllm", "hopper", "no-model on no-system"));
}

// A fit needs three groups, and each of them is left out once.
TEST(ServiceFolds, CatalogsFoldsAreConstantsOfAtLeastThreeGroups) {
  const Bundle bundle;
  const auto paths = bundle.list("engines/folds", ".yaml");
  EXPECT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    const auto folds = split_texts(bundle.find(path)->content);
    EXPECT_GE(folds.size(), 3u) << path;
    for (const auto& [name, text] : folds) {
      EXPECT_NE(name.find(" on "), std::string::npos) << path;
      EXPECT_NE(text.find("host_per_step"), std::string::npos) << path << ": " << name;
    }
  }
}

}  // namespace service_folds_test
}  // namespace orrery
