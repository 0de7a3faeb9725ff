// Casts of training in narrow formats: bytes by hand, and which GPUs need transposed copies.
#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace training_casts_test {

constexpr double kTokens = 512, kHidden = 4096, kInner = 14336, kLayers = 32;

// Bytes that the casts of a pass around Llama 3 8B's down projection move, for each layer.
double bytes_of_down(const TrainingJob& job, TrainingPass pass, bool transposed = true) {
  static const Architecture model = load_model("llama-3-8b", Bundle());
  double sum = 0;
  for (TrainingOp op : training_ops(model, job, 0)) {
    if (op.cost != TrainingCost::kCasts || op.name != "down_proj" || op.pass != pass) continue;
    if (!transposed) op = without_transpose(op);
    const auto& e = std::get<Elementwise>(op.op);
    sum += op.count / kLayers * (e.read + e.written).value();
  }
  return sum;
}

TrainingJob job_of(Fp8Recipe recipe) {
  TrainingJob j;
  j.seq = static_cast<std::int64_t>(kTokens);
  j.precision.compute = Dtype::kFp8, j.precision.recipe = recipe;
  j.precision.fp8_parameters = true;  // no casts of weights
  return j;
}

// Delayed scaling reads 16 bits and writes 8 twice; a scale from the tensor itself reads it twice.
TEST(TrainingCasts, BytesOfEachRecipe) {
  const double input = kTokens * kInner, output = kTokens * kHidden;
  const auto forward = [](const TrainingJob& j) {
    return bytes_of_down(j, TrainingPass::kForward);
  };
  const auto backward = [](const TrainingJob& j) {
    return bytes_of_down(j, TrainingPass::kBackwardInput);
  };
  const TrainingJob delayed = job_of(Fp8Recipe::kTensor), current = job_of(Fp8Recipe::kCurrent);
  EXPECT_NEAR(forward(delayed) / input, 4, 1e-9);
  EXPECT_NEAR(backward(delayed) / output, 4, 1e-9);
  EXPECT_NEAR(forward(current) / input, 6, 1e-9);
  EXPECT_NEAR(backward(current) / output, 6, 1e-9);
  EXPECT_NEAR(bytes_of_down(current, TrainingPass::kForward, false) / input, 5, 1e-9);
  EXPECT_NEAR(forward(job_of(Fp8Recipe::kMx)) / input, 4, 1e-9);
}

// The first of two forward passes needs no transpose, and adapters none at all.
TEST(TrainingCasts, TransposesForGradientsOfWeightsAlone) {
  TrainingJob j = job_of(Fp8Recipe::kTensor);
  j.recompute = Recompute::kFull;
  EXPECT_NEAR(bytes_of_down(j, TrainingPass::kForward) / (kTokens * kInner), 3 + 4, 1e-9);
  j.recompute = Recompute::kNone, j.tuning = Tuning::kLora;
  EXPECT_NEAR(bytes_of_down(j, TrainingPass::kForward) / (kTokens * kInner), 3, 1e-9);
}

// A weight is cast with its transpose once an iteration.
TEST(TrainingCasts, WeightsOnceAnIteration) {
  TrainingJob j = job_of(Fp8Recipe::kCurrent);
  const double without = bytes_of_down(j, TrainingPass::kForward);
  j.precision.fp8_parameters = false;
  EXPECT_NEAR((bytes_of_down(j, TrainingPass::kForward) - without) / (kHidden * kInner), 6, 1e-9);
  j.global_batch = 4 * j.micro_batch;
  EXPECT_NEAR((bytes_of_down(j, TrainingPass::kForward) - without) / (kHidden * kInner), 1.5, 1e-9);
}

TEST(TrainingCasts, WhichProductsNeedTransposes) {
  const auto transposes = [](const TrainingPrecision& p, const char* gpu) {
    return transposes_operands(p, Catalog().gpu(gpu).architecture);
  };
  TrainingPrecision p;
  p.compute = Dtype::kFp8;
  for (const Fp8Recipe recipe : {Fp8Recipe::kTensor, Fp8Recipe::kCurrent}) {
    p.recipe = recipe;
    EXPECT_TRUE(transposes(p, "l40s"));
    EXPECT_TRUE(transposes(p, "h100-sxm"));
    EXPECT_FALSE(transposes(p, "b200-sxm"));
    EXPECT_FALSE(transposes(p, "b300-sxm"));
    EXPECT_TRUE(transposes(p, "rtx-5090"));
  }
  p.recipe = Fp8Recipe::kMx;
  EXPECT_TRUE(transposes(p, "b200-sxm"));
  p.compute = Dtype::kFp4;
  EXPECT_TRUE(transposes(p, "b200-sxm"));
}

}  // namespace training_casts_test
}  // namespace orrery
