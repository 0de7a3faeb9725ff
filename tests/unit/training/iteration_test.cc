// Iterations with the prior constants compared with published runs, and the effect of each option.
#include "orrery/training/iteration/iteration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/schedules/schedule.h"
#include "tests/unit/training/iteration_fixture.h"

namespace orrery {
namespace iteration_test {

using namespace iteration_fixture;

// Korthikanti et al. 2022, table 5: A100 80 GB, 16-bit, unfused attention with dropout; seconds
// with full recomputation, and with sequence parallelism and selective recomputation.
TEST(Iteration, KorthikantiTable5) {
  struct Row {
    int layers, hidden, heads, gpus, tp, pp, vp, micro, global;
    double full, selective;
  };
  const Row rows[] = {{48, 6144, 64, 8, 8, 1, 1, 4, 4, 1.42, 1.10},
                      {96, 12288, 96, 64, 8, 8, 3, 1, 64, 18.13, 13.75},
                      {105, 20480, 128, 280, 8, 35, 3, 1, 280, 49.05, 37.83},
                      {128, 25600, 160, 512, 8, 64, 1, 1, 512, 94.42, 71.49}};
  double sum = 0;
  for (const Row& r : rows) {
    const Architecture model = gpt(r.layers, r.hidden, r.heads);
    const Machine machine(r.gpus);
    TrainingJob j = job_of(r.tp, r.pp, r.vp, r.micro, r.global);
    j.flash = false, j.dropout = true;
    j.recompute = Recompute::kFull;
    const double full = machine.time(model, j).total.value();
    EXPECT_NEAR(full / r.full, 1, 0.1) << r.hidden;
    j.recompute = Recompute::kSelective;
    j.plan.sequence_parallel = true;
    const double selective = machine.time(model, j).total.value();
    EXPECT_NEAR(selective / r.selective, 1, 0.1) << r.hidden;
    sum += std::abs(full / r.full - 1) + std::abs(selective / r.selective - 1);
  }
  EXPECT_LT(sum / 8, 0.0365);  // Calculon's mean error on the same rows
}

TEST(Iteration, EqualStagesIdleAsTheClosedFormSays) {
  const Architecture model = gpt(32, 4096, 32);
  const Machine machine(8);
  TrainingJob j = job_of(1, 8, 1, 1, 16);
  j.plan.schedule = "1f1b";
  const IterationParts parts = machine.parts(model, j);
  // All stages except the first and the last are equal.
  EXPECT_EQ(parts.kinds.size(), 3u);
  IterationParts equal = parts;
  for (int& kind : equal.kind) kind = 1;
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const Seconds stage = chunk_time({equal, k, j}, equal.kinds[1]).total();
  const IterationTime t = iteration_time(equal, k, j);
  EXPECT_NEAR(t.bubble / (7 * stage), 1, 1e-9);
  Seconds work = t.launches;
  for (const Seconds s : t.work) work += s;
  EXPECT_NEAR(work / (16 * stage), 1, 1e-9);
}

TEST(Iteration, PartsDoWhatTheyAreFor) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(32, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 32, j.plan.zero = 3;
  const IterationTime sharded = machine.time(model, j, "fsdp");
  EXPECT_GT(sharded.sharding, Seconds(0));
  EXPECT_EQ(sharded.reduce, Seconds(0));
  j.plan.zero = 1;
  const IterationTime states = machine.time(model, j, "fsdp");
  EXPECT_EQ(states.sharding, Seconds(0));
  EXPECT_GT(states.reduce, Seconds(0));
  EXPECT_GT(states.gather, Seconds(0));
  TrainingJob full = j;
  full.plan.zero = 0;
  EXPECT_GT(machine.time(model, full, "fsdp").optimizer, 8 * states.optimizer);

  TrainingJob lora = j;
  lora.tuning = Tuning::kLora;
  const IterationTime adapters = machine.time(model, lora, "fsdp");
  // No gradients of weights: two of three products, and nothing to reduce.
  const auto products = static_cast<std::size_t>(TrainingCost::kProducts);
  EXPECT_NEAR(adapters.work[products] / states.work[products], 0.7, 0.06);
  // The latency of a small collective a layer.
  EXPECT_LT(adapters.reduce, 0.1 * states.reduce);

  TrainingJob again = j;
  again.recompute = Recompute::kFull;
  const IterationTime recomputed = machine.time(model, again, "fsdp");
  EXPECT_NEAR(recomputed.work[products] / states.work[products], 4.0 / 3, 0.03);
}

// By the bytes of their states: Adam in fp32, in 16 and 8 bits, one moment, none. Muon multiplies
// matrices instead.
TEST(Iteration, OptimizersMoveTheirStates) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(1, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 1);
  const auto step = [&] { return machine.parts(model, j).stages[0].optimizer; };
  const Seconds adam = step();
  j.precision.moments = Dtype::kBf16;
  const Seconds half = step();
  j.precision.moments = Dtype::kInt8;
  const Seconds eighth = step();
  EXPECT_LT(half, 0.9 * adam);
  EXPECT_LT(eighth, half);
  j.precision.moments = Dtype::kFp32;
  j.optimizer = Optimizer::kSgd;
  const Seconds sgd = step();
  // 14 + 14 bytes a parameter of Adam's 28, and the norm's 4: SGD saves 8.
  EXPECT_NEAR(sgd / adam, 1 - 8.0 / 34, 0.08);
  j.optimizer = Optimizer::kAdafactor;
  EXPECT_LT(step(), sgd);
  j.optimizer = Optimizer::kMuon;
  EXPECT_GT(step(), sgd);
  // fp16's gradients are unscaled and checked.
  j.optimizer = Optimizer::kAdam;
  j.precision.compute = j.precision.activations = Dtype::kFp16;
  EXPECT_GT(step(), 1.1 * adam);
}

// Four documents in a sequence have a quarter of its pairs. Offloading of saved activations waits
// for PCIe.
TEST(Iteration, PackingAndOffload) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(8, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.plan.dp = 8, j.seq = 32768;
  const auto core = static_cast<std::size_t>(TrainingCost::kAttention);
  TrainingJob packed = j;
  packed.document = 8192;
  // Never less than its share of the pairs; shorter calls are a little less efficient.
  const double share = machine.time(model, packed).work[core] / machine.time(model, j).work[core];
  EXPECT_GE(share, 0.25);
  EXPECT_LE(share, 0.33);
  TrainingJob offloaded = j;
  offloaded.seq = 2048, offloaded.offload_activations = true;
  TrainingJob kept = offloaded;
  kept.offload_activations = false;
  EXPECT_GT(machine.time(model, offloaded).total, machine.time(model, kept).total);
}

// Whatever a fit makes of the constants, products run no faster than the data sheet.
TEST(Iteration, NoConstantBringsProductsAboveThePeak) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(1, "h100-sxm");
  const TrainingJob j = job_of(1, 1, 1, 2, 2);
  TrainingConstants k = training_constants(prior_constants(), "megatron",
                                           Catalog(Bundle()).gpu("h100-sxm"), j.precision);
  k.value[at(TrainingCost::kProducts)] = 0.01;
  const Seconds products =
      iteration_time(machine.parts(model, j), k, j).work[at(TrainingCost::kProducts)];
  // Three passes through the matrices of a layer, 12 h^2 of them.
  const double flops = 3 * 2 * 24 * 12.0 * 4096 * 4096 * (2 * 2048);
  EXPECT_GE(products.value(), flops / 989.4e12);
}

TEST(Iteration, RefusesFormatsThatTheGpuDoesNotMultiply) {
  const Architecture model = gpt(4, 1024, 16);
  TrainingJob j = job_of(1, 1, 1, 1, 1);
  j.precision.compute = Dtype::kFp8;
  EXPECT_THROW(Machine(1, "a100-80g-sxm").parts(model, j), NoData);
  EXPECT_NO_THROW(Machine(1, "h100-sxm").parts(model, j));
  j.precision.compute = Dtype::kBf16;
  EXPECT_THROW(Machine(1, "v100-32g-sxm").parts(model, j), NoData);
  j.precision.compute = j.precision.activations = Dtype::kFp16;
  EXPECT_NO_THROW(Machine(1, "v100-32g-sxm").parts(model, j));
}

// Under ZeRO 3 the base of QLoRA travels in four bits: 0.516 bytes of 2 for each layer's weight.
TEST(Iteration, QloraGathersItsBaseInFourBits) {
  const Architecture model = gpt(24, 8192, 64);
  const Machine machine(8, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.plan.dp = 8, j.plan.zero = 3;
  j.tuning = Tuning::kLora;
  const Seconds whole = machine.parts(model, j).kinds[0].gather;
  j.tuning = Tuning::kQlora;
  const double share = machine.parts(model, j).kinds[0].gather / whole;
  EXPECT_GT(share, 0.25);  // the embedding stays in 16 bits
  EXPECT_LT(share, 0.40);
}

// One stage has no pipeline, whatever schedule a sweep over stages names.
TEST(Iteration, OneStageNeedsNoSchedule) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(2, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 4);
  const Seconds plain = machine.time(model, j).total;
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    j.plan.schedule = kind.name;
    EXPECT_EQ(machine.time(model, j).total, plain) << kind.name;
  }
}

TEST(Iteration, NoFasterThanItsFlops) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(8, "h100-sxm");
  for (const bool sequence : {false, true}) {
    TrainingJob j = job_of(8, 1, 1, 2, 16);
    j.plan.sequence_parallel = sequence;
    const double flops = model_flops_per_token(model, j) * 16 * 2048;
    EXPECT_GT(machine.time(model, j).total.value(), flops / (8 * 989e12));
  }
}

}  // namespace iteration_test
}  // namespace orrery
