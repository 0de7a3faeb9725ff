// Splits of layers among virtual stages.
#include "orrery/workload/plan/pipeline_split.h"

#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/plan/training_job.h"
#include "tests/refusal.h"

namespace orrery {
namespace pipeline_split_test {

// Megatron's flags, by the rules of get_num_layers_to_build.
TEST(SplitRule, EmbeddingAndLossCountAsLayers) {
  using Layers = std::vector<std::int64_t>;
  EXPECT_EQ(split_by_rule({.embedding = true, .loss = true}, 14, 0, 4, 1), (Layers{3, 4, 4, 3}));
  EXPECT_EQ(split_by_rule({.embedding = true}, 15, 0, 4, 1), (Layers{3, 4, 4, 4}));
  EXPECT_EQ(split_by_rule({.loss = true}, 15, 0, 2, 4), (Layers{2, 2, 2, 2, 2, 2, 2, 1}));
  // The first and the last stage, of two chunks each.
  EXPECT_EQ(split_by_rule({.first = 2, .last = 4}, 22, 0, 4, 2), (Layers{1, 4, 4, 2, 1, 4, 4, 2}));
  EXPECT_EQ(split_by_rule({.last = 2}, 14, 0, 4, 1), (Layers{4, 4, 4, 2}));
  EXPECT_THROW(split_by_rule({.embedding = true}, 16, 0, 4, 1), Infeasible);
  EXPECT_THROW(split_by_rule({.embedding = true, .first = 2}, 15, 0, 4, 1), Infeasible);
  EXPECT_THROW(split_by_rule({.first = 3}, 15, 0, 3, 2), Infeasible);
  EXPECT_THROW(split_by_rule({.first = 9, .last = 9}, 16, 0, 4, 1), Infeasible);
  // Llama 3.1 405B: 126 layers on 16 stages of eight chunks (its paper, section 3.3.2).
  const Architecture llama = load_model("llama-3.1-405b", Bundle());
  TrainingJob j;
  j.plan.pp = 16, j.plan.vp = 8, j.global_batch = 16;
  EXPECT_NE(refusal_of<Infeasible>([&] {
              check_job(llama, j);
            }).find("126 layers of llama-3.1-405b do not divide by pp 16 x vp 8"),
            std::string::npos);
  j.plan.rule = {.embedding = true, .loss = true};
  check_job(llama, j);
  EXPECT_EQ(chunk_layers(llama, j.plan, 0).size(), 0);
  EXPECT_EQ(chunk_layers(llama, j.plan, 1).size(), 1);
  EXPECT_EQ(chunk_layers(llama, j.plan, 127).size(), 0);
}

// Nanotron's documentation (docs/3d_parallelism.md of github.com/huggingface/nanotron) prints these
// layers of each of eight stages of Llama 3 8B, of which the last has the LM head.
TEST(SplitRule, BalancedByParameters) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  TrainingJob j;
  j.plan.pp = 8, j.global_batch = 8, j.plan.rule = {.balanced = true};
  check_job(llama, j);
  std::vector<int> layers;
  for (int stage = 0; stage < 8; ++stage)
    layers.push_back(chunk_layers(llama, j.plan, stage).size());
  EXPECT_EQ(layers, (std::vector<int>{5, 4, 4, 5, 4, 4, 4, 2}));
  EXPECT_EQ(split_by_rule({.balanced = true}, 4, 3, 2, 1), (std::vector<std::int64_t>{4, 0}));
  EXPECT_THROW(split_by_rule({.balanced = true}, 16, 4, 16, 1), Infeasible);
  EXPECT_THROW(split_by_rule({.balanced = true}, 16, 4, 2, 2), Infeasible);
}

TEST(UnevenSplit, EndsHaveALayerLess) {
  EXPECT_EQ(uneven_split(126, 64), [] {
    std::vector<std::int64_t> v(64, 2);
    v.front() = v.back() = 1;
    return v;
  }());
  EXPECT_EQ(uneven_split(61, 4), (std::vector<std::int64_t>{15, 16, 16, 14}));
  EXPECT_EQ(uneven_split(70, 12), (std::vector<std::int64_t>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5}));
}

}  // namespace pipeline_split_test
}  // namespace orrery
