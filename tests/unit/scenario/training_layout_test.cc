// Layouts that a question does not list: those of bundled recipes, which have the layout of their
// source, and the split of a pipeline's layers by the times of its stages.
#include <algorithm>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_recipe.h"
#include "orrery/scenario/kinds/training/training_split.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_layout_test {

Point answered(const std::string& id, const Bundle& bundle) {
  Runner runner(bundle);
  return runner.run(read_scenario(all_kinds(), training_recipe(id, bundle).scenario)).points.at(0);
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

Answer answer_of(const std::string& yaml) {
  static Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "test.yaml")));
}

// All splits of `layers` among `chunks`, one after the other.
void each_split(std::int64_t layers, std::size_t chunks, LayersOfStages& so_far,
                const std::function<void(const LayersOfStages&)>& see) {
  if (so_far.size() + 1 == chunks) {
    so_far.push_back(layers);
    see(so_far);
    so_far.pop_back();
    return;
  }
  for (std::int64_t n = 0; n <= layers; ++n) {
    so_far.push_back(n);
    each_split(layers - n, chunks, so_far, see);
    so_far.pop_back();
  }
}

// Stages of equal layers with work at both ends: no split of all is shorter.
TEST(TrainingSplit, IsTheShortestOfAll) {
  struct Case {
    int layers, pp, vp;
    double embedding, head;  // in layers
  };
  for (const Case& c :
       {Case{14, 4, 1, 0.3, 1.4}, Case{13, 4, 1, 0.1, 2.6}, Case{9, 2, 1, 0.2, 3.2},
        Case{12, 2, 2, 0.2, 2.2}, Case{7, 2, 3, 0.6, 0.6}, Case{10, 5, 1, 0.1, 4.5}}) {
    const auto time = [&](const LayersOfStages& split) {
      std::vector<double> stages(static_cast<std::size_t>(c.pp));
      for (std::size_t i = 0; i < split.size(); ++i)
        stages[i % stages.size()] += static_cast<double>(split[i]);
      stages.front() += c.embedding, stages.back() += c.head;
      return Seconds(*std::max_element(stages.begin(), stages.end()));
    };
    Seconds least(1e9);
    LayersOfStages none;
    each_split(c.layers, static_cast<std::size_t>(c.pp * c.vp), none,
               [&](const LayersOfStages& split) { least = std::min(least, time(split)); });
    const LayersOfStages best = best_split(c.layers, c.pp, c.vp, time);
    EXPECT_EQ(std::accumulate(best.begin(), best.end(), std::int64_t{0}), c.layers);
    EXPECT_EQ(time(best), least) << c.layers << " layers, pp " << c.pp << ", head " << c.head;
  }
  EXPECT_EQ(best_split(5, 1, 1, {}), LayersOfStages{5});
}

TEST(TrainingSplit, AutoIsNoLongerThanWhatIsWrittenDown) {
  const auto asked = [](const std::string& split) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, pp: 8, "
               "seq: 8192, global_batch: 32, split: " +
               split + "}}")
        .points.at(0);
  };
  const Point best = asked("auto");
  const double time = best.find("iteration_time")->value;
  for (const char* split : {"0", "[4, 4, 4, 4, 4, 5, 5, 2]", "[5, 5, 4, 4, 4, 4, 4, 2]"})
    EXPECT_LE(time, asked(split).find("iteration_time")->value) << split;
  // The head of a vocabulary of 128,256 takes as long as several layers of this size.
  EXPECT_LT(time, 0.98 * asked("0").find("iteration_time")->value);
  EXPECT_EQ(best.notes.front().find("split auto: "), 0U);
}

TEST(TrainingSplit, AutoExcludesFlagsThatDivide) {
  const auto asked = [](const std::string& keys) {
    return answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, " + keys +
                     "}}");
  };
  EXPECT_THROW(asked("pp: 4, split: auto, split_loss: true"), Infeasible);
  EXPECT_NO_THROW(asked("split: auto"));  // one stage
  EXPECT_THROW(asked("pp: 4, split: automatic"), InputError);
}

// Nanotron divides layers by parameters unless the question divides them.
TEST(TrainingLayout, StacksDivideLayersThatTheQuestionLeavesOpen) {
  TrainingQuestion q;
  q.stack = "nanotron", q.gpus = q.job.plan.pp = 8, q.global_batch = 8;
  const TrainingJob open = job_of(q);
  EXPECT_TRUE(open.plan.rule.balanced);
  EXPECT_EQ(balanced_split_note(q.stack, load_model("llama-3-8b", Bundle()), open.plan),
            "nanotron divides layers by parameters: 5,4,4,5,4,4,4,2 (split gives others)");
  const auto balanced = [&q](auto change) {
    TrainingQuestion other = q;
    change(other);
    return job_of(other).plan.rule.balanced;
  };
  EXPECT_FALSE(balanced([](TrainingQuestion& o) { o.job.plan.split = {4, 4, 4, 4, 4, 4, 4, 4}; }));
  EXPECT_FALSE(balanced([](TrainingQuestion& o) { o.job.plan.rule.loss = true; }));
  EXPECT_FALSE(balanced([](TrainingQuestion& o) { o.best_split = true; }));
  EXPECT_FALSE(balanced([](TrainingQuestion& o) { o.job.plan.vp = 2; }));
  EXPECT_FALSE(balanced([](TrainingQuestion& o) { o.stack = "megatron"; }));
}

}  // namespace training_layout_test
}  // namespace orrery
