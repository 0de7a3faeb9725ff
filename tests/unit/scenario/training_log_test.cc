// Reading of logs as the tools print them, and refusal of other files.
#include "orrery/scenario/measured/training_log.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace training_log_test {

TEST(TrainingLog, Megatron) {
  const TrainingLog log = parse_training_log(
      " [2024-06-01 10:00:00] iteration        1/     100 | consumed samples:           64 | "
      "elapsed time per iteration (ms): 9999.0 | throughput per GPU (TFLOP/s/GPU): 10.0 |\n"
      "other text\n"
      " iteration        2/     100 | elapsed time per iteration (ms): 1250.0 | throughput per GPU "
      "(TFLOP/s/GPU): 400.0 | learning rate: 1.0E-04 |\n"
      " iteration        3/     100 | elapsed time per iteration (ms): 1150.0 | throughput per GPU "
      "(TFLOP/s/GPU): 420.0 |\n",
      "run.log");
  EXPECT_EQ(log.tool, "Megatron");
  EXPECT_NEAR(*log.iteration_s, 1.2, 1e-12);  // the first one does not count
  EXPECT_NEAR(*log.tflops_per_gpu, 410, 1e-12);
  EXPECT_FALSE(log.memory_gb);
  EXPECT_EQ(log.steps, 2);
  EXPECT_FALSE(log.global_batch);
}

TEST(TrainingLog, SaysItsGlobalBatch) {
  const TrainingLog log = parse_training_log(
      " iteration 1/ 9 | elapsed time per iteration (ms): 5.0 | global batch size:   128 |\n", "l");
  EXPECT_EQ(log.global_batch, 128);
  EXPECT_EQ(log.steps, 1);
}

TEST(TrainingLog, TorchtitanWithColours) {
  const TrainingLog log = parse_training_log(
      "\x1b[32mstep: 10  \x1b[33mloss:  7.1  memory: 40.00GiB(50.10%)  tps: 5,012  tflops: 300.12 "
      " mfu: 30.35%\x1b[39m",
      "t.log");
  EXPECT_EQ(log.tool, "torchtitan");
  EXPECT_NEAR(*log.tokens_per_s_per_gpu, 5012, 1e-9);
  EXPECT_NEAR(*log.memory_gb, 40 * 1.073741824, 1e-9);
  EXPECT_NEAR(*log.tflops_per_gpu, 300.12, 1e-9);
}

TEST(TrainingLog, NeMo) {
  const TrainingLog log = parse_training_log(
      "Training epoch 0, iteration 5/99 | lr: 1e-4 | global_batch_size: 512 | reduced_train_loss: "
      "3.1 | train_step_timing in s: 3.21\n",
      "n.log");
  EXPECT_EQ(log.tool, "NeMo");
  EXPECT_NEAR(*log.iteration_s, 3.21, 1e-12);
  EXPECT_EQ(log.global_batch, 512);
}

TEST(TrainingLog, RefusesOtherFiles) {
  EXPECT_THROW(parse_training_log("hello\nworld\n", "x.txt"), InputError);
  EXPECT_THROW(parse_training_log("", "empty"), InputError);
  EXPECT_THROW(parse_training_log("elapsed time per iteration (ms): nan |", "x"), InputError);
}

}  // namespace training_log_test
}  // namespace orrery
