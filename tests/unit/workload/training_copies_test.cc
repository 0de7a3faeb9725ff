// Copies that training makes around its products: experts' tokens filled up to blocks of a narrow
// format, and the dense gradient of the embedding.
#include <gtest/gtest.h>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace training_copies_test {

double bytes_of(const Elementwise& e) { return (e.read + e.written).value(); }

// Received copies are read and written once before the products and once after them, both ways.
TEST(TrainingCopies, ExpertsAreFilledUpInNarrowFormats) {
  const Architecture moe = load_model("mixtral-8x7b", Bundle());
  TrainingJob j;
  const auto padded = [&](TrainingPass pass) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(moe, j, 0))
      if (op.pads && op.pass == pass) sum += op.count * bytes_of(std::get<Elementwise>(op.op));
    return sum;
  };
  EXPECT_EQ(padded(TrainingPass::kForward), 0);  // 16 bits need no blocks
  j.precision.compute = Dtype::kFp8;
  const double copies = 32 * 2048 * 2.0 * 4096 * 2;  // layers, tokens, experts, bytes of a row
  EXPECT_NEAR(padded(TrainingPass::kForward) / copies, 4, 1e-9);
  EXPECT_NEAR(padded(TrainingPass::kBackwardInput) / copies, 4, 1e-9);
  EXPECT_EQ(padded(TrainingPass::kRecompute), 0);
  j.recompute = Recompute::kFull;
  EXPECT_NEAR(padded(TrainingPass::kRecompute) / copies, 4, 1e-9);
  j.capacity_factor = 1;  // equal numbers already
  EXPECT_EQ(padded(TrainingPass::kForward), 0);
  j.capacity_factor = 0;
  j.plan.dp = j.plan.ep = 8, j.global_batch = 8;
  EXPECT_GT(padded(TrainingPass::kForward), 0);
  j.plan.dispatcher = ExpertDispatcher::kFlex;  // fills up on the way
  EXPECT_EQ(padded(TrainingPass::kForward), 0);
}

// Zeros in 16 bits; with several micro-batches read again and added to the fp32 sum.
TEST(TrainingCopies, TheGradientOfAnEmbeddingIsDense) {
  const Architecture model = load_model("llama-3-8b", Bundle());
  TrainingJob j;
  const auto dense = [&] {
    double sum = 0;
    for (const TrainingOp& op : training_ops(model, j, 0))
      if (const auto* e = std::get_if<Elementwise>(&op.op);
          e && op.name == "embedding" && op.pass == TrainingPass::kBackwardWeight)
        sum += op.count * bytes_of(*e);
    return sum;
  };
  const double weights = 128256.0 * 4096;
  EXPECT_NEAR(dense() / weights, 2, 1e-9);
  j.global_batch = 4;
  EXPECT_NEAR(dense() / weights, 2 + 2 + 4 + 4, 1e-9);
  j.precision.gradients = Dtype::kBf16;
  EXPECT_NEAR(dense() / weights, 2 + 2 + 2 + 2, 1e-9);
  j.plan.tp = 2;
  EXPECT_NEAR(dense() / weights, 8 / 2.0, 1e-9);
  j.tuning = Tuning::kLora;
  EXPECT_EQ(dense(), 0);
}

}  // namespace training_copies_test
}  // namespace orrery
