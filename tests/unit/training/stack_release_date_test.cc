// Versions of stacks as dates, and their effect on constants.
#include "orrery/training/iteration/stack_release_date.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {
namespace stack_release_date_test {

using C = TrainingConstant;

TEST(ReleaseDate, DatesContainersAndMegatronCore) {
  EXPECT_DOUBLE_EQ(stack_release_date("2024"), 2024.5);
  EXPECT_DOUBLE_EQ(stack_release_date("2025-06"), 2025 + 5.5 / 12);
  EXPECT_DOUBLE_EQ(stack_release_date("2025-06-09"), 2025 + 5.5 / 12);
  EXPECT_DOUBLE_EQ(stack_release_date("25.09"), 2025 + 8.5 / 12);
  EXPECT_DOUBLE_EQ(stack_release_date("26.04.01"), 2026 + 3.5 / 12);
  EXPECT_DOUBLE_EQ(stack_release_date("0.12"), 2025 + 4.5 / 12);
  EXPECT_DOUBLE_EQ(stack_release_date("0.12.1"), stack_release_date("0.12"));
}

TEST(ReleaseDate, RefusesWhatIsNone) {
  for (const char* text : {"", "torch 2.13", "25.13", "0.99", "2.7", "25.", "2025-06-", "v25.09"})
    EXPECT_THROW(stack_release_date(text), InputError) << text;
}

TEST(ReleaseSpan, NothingIsExtrapolated) {
  const ReleaseSpan span{2023, 2026, 2025};
  EXPECT_EQ(span.years(2025.5), 0.5);
  EXPECT_EQ(span.years(2030), 1);
  EXPECT_EQ(span.years(2015), -2);
}

TEST(TrainingConstants, AYearMultipliesByItsFactor) {
  ConstantTable table = prior_constants();
  table.releases["megatron"] = {2023, 2026, 2025};
  table.groups["stack megatron year"].fill(1);
  table.groups["stack megatron year"][static_cast<std::size_t>(C::kProducts)] = 0.9;
  const Gpu gpu = Catalog().gpu("h100-sxm");
  const auto products = [&](const char* stack, std::optional<double> release) {
    return training_constants(table, stack, gpu, {}, release)[C::kProducts];
  };
  const double usual = products("megatron", std::nullopt);
  EXPECT_DOUBLE_EQ(usual, products("megatron", 2025));
  EXPECT_DOUBLE_EQ(products("megatron", 2026), 0.9 * usual);
  EXPECT_DOUBLE_EQ(products("megatron", 2040), 0.9 * usual);
  EXPECT_DOUBLE_EQ(products("megatron", 2024), usual / 0.9);
  // Another stack has releases of its own.
  EXPECT_DOUBLE_EQ(products("fsdp", 2026), products("fsdp", std::nullopt));
}

TEST(TrainingConstants, ATableIsReadAsItIsWritten) {
  ConstantTable table = prior_constants();
  table.releases["fsdp"] = {2023.25, 2026.5, 2025};
  table.groups["stack fsdp year"].fill(0.95);
  table.covers = {"fsdp hopper fp8", "megatron ampere"};
  table.related_error = 0.17;
  table.adapters_error = 0.2;
  const ConstantTable read = read_constant_table(
      Bundle().replacing("training", {{"training/constants.yaml", to_yaml(table)}}));
  EXPECT_EQ(read.covers, table.covers);
  EXPECT_EQ(read.related_error, 0.17);
  EXPECT_EQ(read.adapters_error, 0.2);
  EXPECT_EQ(read.releases.at("fsdp").first, 2023.25);
  EXPECT_EQ(read.releases.at("fsdp").last, 2026.5);
  EXPECT_EQ(read.groups.at("stack fsdp year")[0], 0.95);
}

// Megatron-LM of 2022 has features that Megatron-LM of 2021 lacks; Megatron-DeepSpeed has not got
// them in 2022.
TEST(TrainingStacks, MegatronFusesAccumulationSince2022) {
  const TrainingStackProfile& old = training_stack("megatron-2021");
  EXPECT_FALSE(stack_traits(old, false).fused_accumulation);
  EXPECT_FALSE(stack_traits(old, false, {2021.9, {}}).async_gradients);
  EXPECT_TRUE(stack_traits(old, false, {stack_release_date("2022-05"), {}}).fused_accumulation);
  EXPECT_TRUE(stack_traits(old, false, {stack_release_date("2022-05"), {}}).async_gradients);
  EXPECT_TRUE(stack_traits(training_stack("megatron"), false).async_gradients);
  EXPECT_FALSE(
      stack_traits(training_stack("megatron-deepspeed"), false, {2022.2, {}}).async_gradients);
}

}  // namespace stack_release_date_test
}  // namespace orrery
