// Are the orders those that the papers draw, and do shapes that break a rule say which?
#include "orrery/training/schedules/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace schedule_test {

using ::testing::HasSubstr;

// "F0 F1 B0 ...": micro-batches, with the chunk as a letter where there are several; a pair is
// joined by +.
std::string order_text(std::string_view name, int stage, const PipelineShape& shape) {
  const PipelineSchedule& schedule = pipeline_schedule(name);
  schedule.check(shape);
  std::vector<PipelineTask> tasks;
  schedule.order(stage, shape, tasks);
  std::string out;
  for (const PipelineTask& t : tasks) {
    out += std::string(to_text(t.pass)) + std::to_string(t.micro_batch);
    if (shape.chunks * schedule.copies() > 1) out += static_cast<char>('a' + t.chunk);
    out += t.paired ? '+' : ' ';
  }
  if (!out.empty()) out.pop_back();
  return out;
}

std::string refusal(std::string_view name, const PipelineShape& shape) {
  return refusal_of<Infeasible>([&] { pipeline_schedule(name).check(shape); });
}

// Each entry of the registry returns the schedule of its own name.
TEST(Schedules, NamesAreTheRegistrys) {
  ASSERT_FALSE(pipeline_schedule_kinds().empty());
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    EXPECT_EQ(pipeline_schedule(kind.name).name(), kind.name);
  }
  try {
    pipeline_schedule("zbh1");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'zb-h1'"));
  }
}

TEST(Schedules, GPipeRunsAllForwardsFirst) {
  EXPECT_EQ(order_text("gpipe", 1, {2, 1, 3}), "F0 F1 F2 B0 B1 B2");
}

// One forward more than interleaved, so that the pairs (+) are of different micro-batches.
TEST(Schedules, CombinedPairsAForwardWithAnothersBackward) {
  EXPECT_EQ(order_text("combined", 0, {1, 1, 3}), "F0 F1+B0 F2+B1 B2");
  EXPECT_EQ(order_text("combined", 1, {2, 1, 3}), "F0 F1+B0 F2+B1 B2");
  EXPECT_EQ(order_text("combined", 0, {2, 1, 4}), "F0 F1 F2 F3+B0 B1 B2 B3");
}

// Narayanan et al. 2021, figure 4 (top), 4 stages: the first and the third.
TEST(Schedules, OneFOneB) {
  EXPECT_EQ(order_text("1f1b", 0, {4, 1, 6}), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(order_text("1f1b", 2, {4, 1, 6}), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  EXPECT_EQ(order_text("1f1b", 0, {4, 1, 2}), "F0 F1 B0 B1");
}

// Megatron-core's example of its schedule table: pp 2, 3 (here 2) micro-batches a group, 2 chunks.
TEST(Schedules, InterleavedGoesInGroups) {
  EXPECT_EQ(order_text("interleaved", 1, {2, 2, 4}),
            "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a");
  // Five micro-batches on two stages: groups of three and two.
  EXPECT_EQ(order_text("interleaved", 1, {2, 2, 5}),
            "F0a F1a F2a F0b B0b F1b B1b F2b B2b F3a B0a F4a B1a F3b B2a F4b B3b B4b B3a B4a");
}

// Qi et al. 2023, figure 3, 4 stages: the first and the last.
TEST(Schedules, ZeroBubbleH1AndH2) {
  EXPECT_EQ(order_text("zb-h1", 0, {4, 1, 5}), "F0 F1 F2 F3 I0 W0 F4 I1 W1 I2 W2 I3 W3 I4 W4");
  EXPECT_EQ(order_text("zb-h1", 3, {4, 1, 5}), "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4");
  EXPECT_EQ(order_text("zb-h2", 0, {2, 1, 4}), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(order_text("zb-h2", 1, {2, 1, 4}), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

TEST(Schedules, ZeroBubbleV) {
  EXPECT_EQ(order_text("zb-v", 1, {2, 2, 3}),
            "F0a F0b F1a F1b I0b W0b F2a I0a W0a F2b I1b W1b I1a I2b I2a W1a W2b W2a");
  // Fewer micro-batches than fill it: the same order without those that are not there.
  EXPECT_EQ(order_text("zb-v", 1, {2, 2, 1}), "F0a F0b I0b W0b I0a W0a");
}

// Micro-batches 0 and 1 enter at stage 0, 2 and 3 at stage 1.
TEST(Schedules, DualPipe) {
  EXPECT_EQ(order_text("dualpipe", 0, {2, 1, 4}), "F0a F2b F1a B2b F3b+B0a B3b I1a W1a");
  EXPECT_EQ(order_text("dualpipe", 1, {2, 1, 4}), "F2b F0a F3b B0a F1a+B2b B1a I3b W3b");
  EXPECT_EQ(order_text("dualpipe-v", 0, {1, 2, 2}), "F0a F0b F1a B0b F1b+B0a B1b I1a W1a");
}

TEST(Schedules, ChunksLieWhereThePapersPutThem) {
  const PipelineShape shape{4, 2, 8};
  EXPECT_EQ(pipeline_schedule("interleaved").virtual_stage(1, 1, shape), 5);
  EXPECT_EQ(pipeline_schedule("interleaved").stage_of(6, shape), 2);
  for (std::string_view name : {"zb-v", "dualpipe-v"}) {
    EXPECT_EQ(pipeline_schedule(name).virtual_stage(1, 1, shape), 6);
    EXPECT_EQ(pipeline_schedule(name).stage_of(7, shape), 0);
    EXPECT_EQ(pipeline_schedule(name).stage_of(4, shape), 3);
  }
  EXPECT_EQ(pipeline_schedule("dualpipe").virtual_stage(1, 1, {4, 1, 8}), 2);
  EXPECT_EQ(pipeline_schedule("dualpipe").stage_of(3, {4, 1, 8}), 3);
  EXPECT_THROW(pipeline_schedule("1f1b").stage_of(4, {4, 1, 8}), InputError);
}

TEST(Schedules, BrokenRulesAreNamed) {
  EXPECT_THAT(refusal("1f1b", {4, 2, 8}), HasSubstr("one chunk a stage, not 2"));
  EXPECT_THAT(refusal("interleaved", {4, 1, 8}), HasSubstr("at least 2 chunks"));
  EXPECT_THAT(refusal("zb-v", {4, 1, 8}), HasSubstr("2 chunks a stage, not 1"));
  EXPECT_THAT(refusal("dualpipe", {3, 1, 8}), HasSubstr("even number of stages, not 3"));
  EXPECT_THAT(refusal("dualpipe", {4, 1, 9}), HasSubstr("even number of micro-batches"));
  EXPECT_THAT(refusal("dualpipe", {4, 1, 6}), HasSubstr("at least twice the stages (8), not 6"));
  EXPECT_THAT(refusal("dualpipe-v", {4, 2, 7}), HasSubstr("(8), not 7"));
  EXPECT_EQ(refusal("dualpipe-v", {4, 2, 8}), "");
  EXPECT_THROW(pipeline_schedule("gpipe").check({0, 1, 1}), InputError);
  EXPECT_THROW(pipeline_schedule("gpipe").check({1, 0, 1}), InputError);
  EXPECT_THROW(pipeline_schedule("gpipe").check({1, 1, -3}), InputError);
}

}  // namespace schedule_test
}  // namespace orrery
