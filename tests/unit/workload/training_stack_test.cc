// Training stacks as files of the catalog, and the traits of pipeline schedules that rooms other
// than training ask for.
#include "orrery/workload/plan/training_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/plan/pipeline_schedules.h"
#include "tests/refusal.h"

namespace orrery {
namespace training_stack_test {

using ::testing::HasSubstr;

// A catalog whose only stack is `mine`, with this text.
Bundle only(const std::string& text) {
  return Bundle().replacing("training", {{"training/stacks/mine.yaml", text}});
}

std::string refusal(const std::string& text) {
  return refusal_of<InputError>([&] { load_training_stacks(only(text)); });
}

TEST(TrainingStacks, EveryFileOfTheCatalogNamesItsSources) {
  ASSERT_FALSE(training_stacks().empty());
  for (const TrainingStackProfile& s : training_stacks()) {
    EXPECT_FALSE(s.doc.empty()) << s.name;
    EXPECT_FALSE(s.sources.empty()) << s.name;
    EXPECT_EQ(training_stack(s.name).doc, s.doc);
    if (!s.stack_before_2023.empty()) {
      EXPECT_NO_THROW(training_stack(s.stack_before_2023));
    }
  }
}

TEST(TrainingStacks, TwoLinesMakeAStack) {
  const auto stacks = load_training_stacks(only("doc: mine\nsources: [my code]\n"));
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].name, "mine");
  EXPECT_EQ(stacks[0].zero, 0);
  EXPECT_TRUE(stack_traits(stacks[0], false).fused);
}

TEST(TrainingStacks, ChangesAreOnTopOfTheOtherParts) {
  const TrainingStackProfile s = load_training_stacks(only(R"(
doc: mine
sources: [my code]
before_2023: {recompute: full}
traits_since: {year: 2024, grouped_experts: true}
traits: {fused: false, bucket: 1e6}
recipe: {dropout: true}
)"))[0];
  EXPECT_FALSE(stack_traits(s, false, {2023.9, {}}).grouped_experts);
  EXPECT_TRUE(stack_traits(s, false, {2024.0, {}}).grouped_experts);
  EXPECT_EQ(stack_traits(s, false, {2024.0, {}}).bucket, 1e6);
  EXPECT_FALSE(stack_traits(s, false, {2024.0, {}}).fused);
  EXPECT_TRUE(stack_traits(s, true).fused);  // compiled
  EXPECT_EQ(s.recipe.recompute, Recompute::kNone);
  EXPECT_EQ(s.recipe_before_2023.recompute, Recompute::kFull);
  EXPECT_TRUE(s.recipe_before_2023.dropout);
}

// Kernels that come with a release of PyTorch; a framework of the stack may call another library.
TEST(TrainingStacks, ReleasesOfTorchBringKernels) {
  const TrainingStackProfile s = load_training_stacks(only(R"(
doc: mine
sources: [my code]
traits: {fused: false}
torch: {single_norms: "2.9"}
attention:
  - {backend: flash2}
  - {backend: cudnn, architectures: [hopper], torch: "2.11"}
frameworks:
  - {name: My own, attention: flash3}
)"))[0];
  EXPECT_FALSE(stack_traits(s, false).single_norms);
  EXPECT_FALSE(stack_traits(s, false, {{}, TorchVersion{2, 8}}).single_norms);
  EXPECT_TRUE(stack_traits(s, false, {{}, TorchVersion{2, 10}}).single_norms);
  EXPECT_TRUE(stack_traits(s, false, {2026.0, {}}).single_norms);  // January 2026: PyTorch 2.9
  EXPECT_FALSE(stack_traits(s, false, {2025.5, {}}).single_norms);
  Gpu hopper, ampere;
  hopper.architecture.kernels = "hopper", ampere.architecture.kernels = "ampere";
  const StackRelease newest{{}, TorchVersion{2, 11}};
  EXPECT_EQ(attention_of(s, newest, hopper), "cudnn");
  EXPECT_EQ(attention_of(s, newest, ampere), "flash2");
  EXPECT_EQ(attention_of(s, {}, hopper), "flash2");
  EXPECT_EQ(s.frameworks[0].attention, "flash3");
}

TEST(TrainingStacks, FaultsNameTheFileAndTheKey) {
  EXPECT_THAT(refusal("doc: mine\n"), HasSubstr("sources"));
  const std::string key = refusal("doc: mine\nsources: [x]\nmemory: {expanded_kw: true}\n");
  EXPECT_THAT(key, HasSubstr("mine.yaml:3"));
  EXPECT_THAT(key, HasSubstr("expanded_kv"));
  EXPECT_THAT(refusal("doc: mine\nsources: [x]\ntraits_since: {fused: true}\n"), HasSubstr("year"));
}

// A plan with ep_overlap runs the schedule that takes the place of its own: one that pairs passes.
TEST(PipelineSchedules, TheScheduleInPlaceOfAnotherPairsPasses) {
  int replaced = 0;
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    ASSERT_NE(kind.traits.in_flight, nullptr) << kind.name;
    const std::string_view other = kind.traits.paired_by_overlap;
    if (other.empty()) continue;
    ++replaced;
    EXPECT_TRUE(pipeline_schedule_kind(other).traits.pairs_passes) << kind.name;
    EXPECT_FALSE(kind.traits.pairs_passes) << kind.name;
  }
  EXPECT_GT(replaced, 0);
}

TEST(PipelineSchedules, ThePlanNamesItsSchedule) {
  TrainingPlan p;
  p.pp = 4;
  EXPECT_EQ(schedule_name(p), "1f1b");
  p.vp = 2;
  EXPECT_EQ(schedule_name(p), "interleaved");
  p.schedule = "zb-v";
  EXPECT_EQ(schedule_name(p), "zb-v");
  p.schedule = "spiral";  // refused where the schedule is looked up
  EXPECT_EQ(schedule_name(p), "spiral");
  p.pp = 1;
  EXPECT_EQ(schedule_name(p), "1f1b");
  p.schedule = "combined";
  EXPECT_EQ(schedule_name(p), "combined");
  p.schedule = "dualpipe", p.ep = 2, p.ep_overlap = true;
  EXPECT_EQ(schedule_name(p), "combined");  // one stage
  p.pp = 4;
  EXPECT_EQ(schedule_name(p), "dualpipe");
  p.schedule = "1f1b";
  EXPECT_EQ(schedule_name(p), "combined");
}

}  // namespace training_stack_test
}  // namespace orrery
