#include "orrery/validate/fit/engine_folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/fields.h"
#include "orrery/network/fit/joined_texts.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/validate/fit/engine_constants.h"

namespace orrery {
namespace engine_folds_test {

constexpr const char* kGroup = "llama-3-8b|fp16|mi300x|vllm|agg";

Bundle with_fold() {
  return Bundle()
      .replacing("engines/group-folds", {{"engines/group-folds/vllm-2024-rocm.yaml",
                                          joined_texts({{kGroup, "step_error: 0.3\n"}})}})
      .replacing("engines/fitted",
                 {{"engines/fitted/vllm-2024-rocm.yaml", "step_error: 0.1\nfitted_on: [cdna3]\n"},
                  {"engines/fitted/vllm-2024-rocm-cdna3.yaml", "step_error: 0.05\n"},
                  {"engines/fitted/lmdeploy.yaml", "step_error: 0.2\n"}});
}

TEST(EngineFolds, ReplaceEveryConstantThatSawTheGroup) {
  const Bundle bundle = with_fold();
  const auto without = bundle_without_group(bundle, "vllm-2024-rocm", kGroup);
  ASSERT_TRUE(without);
  Gpu gpu;
  gpu.vendor = "amd", gpu.architecture.id = "cdna3";
  EXPECT_EQ(load_engine("vllm-2024-rocm", gpu, bundle).step_error, 0.05);
  EXPECT_EQ(load_engine("vllm-2024-rocm", gpu, *without).step_error, 0.3);
  EXPECT_EQ(load_engine("lmdeploy", *without).step_error, 0.2);
}

TEST(EngineFolds, GroupsThatNoFitSawHaveNone) {
  EXPECT_FALSE(bundle_without_group(with_fold(), "vllm-2024-rocm", "another|group"));
  EXPECT_FALSE(bundle_without_group(with_fold(), "no-engine", kGroup));
}

// Every constant of a document of the catalog is a key of a profile, and each has an error.
TEST(EngineFolds, CatalogsDocumentsAreProfiles) {
  const Bundle bundle;
  const auto paths = bundle.list("engines/group-folds", ".yaml");
  EXPECT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    for (const auto& [group, text] : split_texts(bundle.find(path)->content)) {
      EXPECT_EQ(std::count(group.begin(), group.end(), '|'), 4) << path << ": " << group;
      EngineProfile profile;
      profile.step_error = -1;
      Fields fields;
      declare(fields, profile);
      EXPECT_NO_THROW(fields.read(parse_yaml(text, path))) << group;
      EXPECT_GT(profile.step_error, 0) << path << ": " << group;
    }
  }
}

TEST(EngineConstants, AreWrittenAsProfilesReadThem) {
  const EngineConstant host{"execution.host_per_step", "us", 1e-6, 10, 20000, 500};
  const EngineConstant factor{"kernels.memory_factor", "", 1, 0.7, 20};
  EngineProfile profile;
  EXPECT_NEAR(host.start(profile), std::log(500), 1e-12);  // zero: where the search starts
  profile.execution.host_per_step = microseconds(1200);
  profile.kernels.memory_factor = 40;  // beyond the range
  EXPECT_NEAR(host.start(profile), std::log(1200), 1e-9);
  EXPECT_NEAR(factor.start(profile), std::log(20), 1e-12);
  const std::vector<EngineConstant> both = {host, factor};
  const std::vector<double> x = {std::log(1500), std::log(1.25)};
  EXPECT_EQ(constants_text(both, x),
            "execution:\n  host_per_step: 1500 us\nkernels:\n  memory_factor: 1.25\n");
}

}  // namespace engine_folds_test
}  // namespace orrery
