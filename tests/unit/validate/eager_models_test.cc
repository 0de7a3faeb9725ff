// Models op by op against their FLOPs by formula.
#include "orrery/validate/rows/eager_models.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace eager_models_test {

double total_flops(const EagerPass& pass) {
  double sum = 0;
  for (const EagerOp& o : pass.ops) sum += o.times * flops(o.op).value();
  return sum;
}

double moved(const EagerPass& pass) {
  double sum = 0;
  for (const EagerOp& o : pass.ops) sum += o.times * bytes(o.op).value();
  return sum;
}

TEST(EagerModels, Gpt2HasTheFlopsOfItsParametersAndScores) {
  const EagerShape m = eager_shape("gpt2_large");
  const EagerPasses p = eager_passes(m, 4, 1024, {.train = true});
  // 12 h^2 a layer and the head; 4 s h a token and layer for scores and values.
  const double tokens = 4096, h = 1280;
  const double forward = 2 * tokens * (36 * 12 * h * h + 50257 * h) + 36 * 4 * tokens * 1024 * h;
  EXPECT_NEAR(total_flops(p.forward) / forward, 1, 1e-12);
  EXPECT_NEAR(total_flops(p.backward) / forward, 2, 1e-12);
}

TEST(EagerModels, InferenceHasNoBackwardAndNoDropout) {
  const EagerShape m = eager_shape("bert_large");
  const EagerPasses inference = eager_passes(m, 2, 512, {});
  const EagerPasses train = eager_passes(m, 2, 512, {.train = true});
  const EagerPasses compiled = eager_passes(m, 2, 512, {.compiled = true});
  EXPECT_TRUE(inference.backward.ops.empty());
  EXPECT_LT(inference.forward.ops.size(), train.forward.ops.size());
  EXPECT_EQ(total_flops(compiled.forward), total_flops(inference.forward));
  EXPECT_LT(moved(compiled.forward), moved(inference.forward));
}

// Accumulation reads the gradient of the last pass and writes the sum, so that it moves three fp32
// values per weight.
TEST(EagerModels, GradientsAddUpOverPasses) {
  const EagerShape m = eager_shape("gpt2_large");
  const EagerPasses once = eager_passes(m, 1, 512, {.train = true});
  const EagerPasses again = eager_passes(m, 1, 512, {.train = true, .accumulate = true});
  EXPECT_EQ(moved(again.forward), moved(once.forward));
  EXPECT_NEAR(moved(again.backward) - moved(once.backward),
              12 * (36 * 12.0 * 1280 * 1280 + 50257.0 * 1280), 1e3);
  EXPECT_EQ(total_flops(again.backward), total_flops(once.backward));
}

TEST(EagerModels, ShardsDivideTheLayers) {
  const EagerShape m = eager_shape("gpt3_xl");
  auto layers_only = [](const EagerPasses& p) {
    double sum = 0;
    for (const EagerOp& o : p.forward.ops) sum += o.times > 1 ? o.times * flops(o.op).value() : 0;
    return sum;
  };
  EXPECT_NEAR(layers_only(eager_passes(m, 1, 512, {})) /
                  layers_only(eager_passes(m, 1, 512, {.shards = 4})),
              4, 1e-12);
}

TEST(EagerModels, SwitchWaitsForTheHost) {
  const EagerPasses p = eager_passes(eager_shape("switchxl4"), 1, 512, {.train = true});
  EXPECT_GT(p.forward.host, Seconds(0));
  EXPECT_THROW(eager_shape("resnet50"), InputError);
}

}  // namespace eager_models_test
}  // namespace orrery
