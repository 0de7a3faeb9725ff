// Recipes of training: every bundled one is answered, and has the layout of its source.
#include "orrery/scenario/document/training_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_recipe_test {

Point answered(const std::string& id, const Bundle& bundle) {
  Runner runner(bundle);
  return runner.run(read_scenario(training_recipe(id, bundle).scenario)).points.at(0);
}

TEST(TrainingRecipe, EveryOneIsAnsweredAndStatesItsSource) {
  const Bundle bundle;
  EXPECT_GE(training_recipe_ids(bundle).size(), 14U);
  for (const std::string& id : training_recipe_ids(bundle)) {
    const TrainingRecipe r = training_recipe(id, bundle);
    EXPECT_TRUE(r.source.starts_with("https://")) << id;
    const Point p = answered(id, bundle);
    EXPECT_NE(p.find("iteration_time"), nullptr) << id << ": " << p.feasibility.reason;
  }
}

// Megatron Bridge's table of its 25.11 container: 64 GPUs, GBS 128, MBS 1, TP 4, PP 8, VP 5.
TEST(TrainingRecipe, HasTheLayoutOfItsSource) {
  const Point p = answered("llama-3-70b-bridge-h100-fp8", Bundle());
  EXPECT_EQ(p.at["gpus"], 64);
  EXPECT_EQ(p.at["tp"], 4);
  EXPECT_EQ(p.at["pp"], 8);
  EXPECT_EQ(p.at["vp"], 5);
  EXPECT_EQ(p.at["dp"], 2);
  EXPECT_EQ(p.at["micro_batch"], 1);
  EXPECT_EQ(p.at["global_batch"], 128);
}

TEST(TrainingRecipe, AnUnknownNameHasItsNearest) {
  try {
    training_recipe("llama-3-70b-bridge-h100-fp9", Bundle());
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("did you mean 'llama-3-70b-bridge-h100-fp8'"));
  }
}

}  // namespace training_recipe_test
}  // namespace orrery
