// Kernels of eager PyTorch, and gradients that are several forward passes.
#include <gtest/gtest.h>

#include <variant>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace training_eager_test {

// Bytes of the kernels of written scores that stacks which fuse do not run.
double eager_bytes(const Architecture& model, const TrainingJob& job, TrainingPass pass) {
  double sum = 0;
  for (const TrainingOp& op : training_ops(model, job, 0))
    if (op.fusible && op.pass == pass && op.name == "attn_prefill")
      sum += op.count * bytes(op.op).value();
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
