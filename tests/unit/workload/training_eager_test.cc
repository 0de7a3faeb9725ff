// Kernels of eager PyTorch, and gradients that are several forward passes.
#include <gtest/gtest.h>

#include <variant>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace training_eager_test {

// Bytes of the kernels of an op that stacks which fuse do not run.
double eager_bytes(const Architecture& model, const TrainingJob& job, TrainingPass pass,
                   std::string_view name = "attn_prefill") {
  double sum = 0;
  for (const TrainingOp& op : training_ops(model, job, 0))
    if (op.fusible && op.pass == pass && op.name == name) sum += op.count * bytes(op.op).value();
  return sum;
}

// GPT-2: 12 layers of 12 heads. With 16 bits the four kernels forward beyond one softmax move
// 4 + 1 + 8 bytes in and 4 + 8 out for each score, those backward 2 + 1 + 12 and 12.
TEST(EagerScores, ScaleMaskAndSoftmaxAreKernelsOfTheirOwn) {
  const Architecture gpt2 = load_model("gpt2", Bundle());
  TrainingJob job;
  job.seq = 1024;
  job.micro_batch = 3;
  job.global_batch = 3;
  job.flash = false;
  const double scores = 3.0 * 12 * 12 * 1024 * 1024;
  EXPECT_NEAR(eager_bytes(gpt2, job, TrainingPass::kForward), 25 * scores, 1e-6 * scores);
  EXPECT_NEAR(eager_bytes(gpt2, job, TrainingPass::kBackwardInput), 27 * scores, 1e-6 * scores);
  job.flash = true;
  EXPECT_EQ(eager_bytes(gpt2, job, TrainingPass::kForward), 0);
}

// GPT-2's code writes GELU as a formula: 12 layers of 3,072 elements. Under autocast the ten
// kernels forward read 40 and write 36 bytes an element in place of 2 and 2, the fifteen backward
// read 70 and write 48 in place of 4 and 2. In 16 bits alone, eight read 20 and write 16, eleven
// read 34 and write 22.
TEST(EagerGelu, AFormulaIsSeveralKernels) {
  Architecture gpt2 = load_model("gpt2", Bundle());
  TrainingJob job;
  job.seq = 1024;
  job.micro_batch = 2;
  job.global_batch = 2;
  const double elements = 2.0 * 1024 * 12 * 3072;
  const auto moved = [&](TrainingPass pass) {
    return eager_bytes(gpt2, job, pass, "activation") / elements;
  };
  EXPECT_NEAR(moved(TrainingPass::kForward), 72, 1e-6);
  double backward = 0;  // kernels beyond the one of a fused GELU
  for (const TrainingOp& op : training_ops(gpt2, job, 0))
    if (op.fusible && op.name == "activation" && op.pass == TrainingPass::kBackwardInput)
      backward += op.count;
  EXPECT_EQ(backward, 12 * 14);
  EXPECT_NEAR(moved(TrainingPass::kBackwardInput), 112, 1e-6);
  job.plan.dp = 2;
  job.global_batch = 4;
  job.plan.zero = 3;
  EXPECT_NEAR(moved(TrainingPass::kForward), 32, 1e-6);
  EXPECT_NEAR(moved(TrainingPass::kBackwardInput), 50, 1e-6);
  LayerSpec layer = gpt2.layers.at(0);
  std::get<DenseMlp>(layer.mlp).activation = Activation::kGelu;
  gpt2.layers = LayerStack();
  gpt2.layers.append(layer, 12);
  EXPECT_EQ(moved(TrainingPass::kForward), 0);
}

// Mamba-2 of Nemotron 3 Nano: 64 heads of 64 channels, state 128, 8 groups, chunks of 128. HPN and
// HPQ are 524,288 each and QGN 131,072: (10 + 6 + 1.5) / (4 + 2 + 0.5) = 2.69 forward passes.
TEST(MixerGradients, MambaTakesMoreThanTwoForwardPasses) {
  const Architecture nano = load_model("nemotron-3-nano-30b-a3b", Bundle());
  TrainingJob job;
  job.seq = 8192;
  double forward = 0, backward = 0;
  for (const TrainingOp& op : training_ops(nano, job, 0)) {
    if (!std::holds_alternative<LinearAttentionCore>(op.op)) continue;
    (op.pass == TrainingPass::kForward ? forward : backward) += op.count;
  }
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(backward / forward, 17.5 / 6.5, 1e-9);
}

}  // namespace training_eager_test
}  // namespace orrery
