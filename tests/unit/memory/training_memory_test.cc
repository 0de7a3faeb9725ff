#include "orrery/memory/training_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "orrery/base/error.h"
#include "tests/unit/memory/training_fixture.h"

namespace orrery {
namespace training_memory_test {

using namespace training_fixture;

// suite45 T3.1.
TEST(TrainingMemory, SevenBillionParametersOnOneA100) {
  const Architecture m = load_model("llama-2-7b");
  TrainingJob job;
  const double p = 6738415616;
  TrainingMemory full = training_memory(m, job, stack("megatron"), gpu());
  EXPECT_EQ(largest_micro_batch(m, job, stack("megatron"), gpu()), 0);
  EXPECT_FALSE(full.fits());
  EXPECT_NEAR(full.optimizer.value(), 12 * p, 1);
  EXPECT_NEAR(full.gradients.value(), 4 * p, 1);
  EXPECT_NEAR(full.weights.value(), 2 * p, 1);
  EXPECT_EQ(full.summary().rfind("does not fit: needs 1", 0), 0u) << full.summary();
  EXPECT_NE(full.summary().find("optimizer 80.9 GB, gradients 27 GB"), std::string::npos)
      << full.summary();

  job.precision.master_weights = false;
  job.precision.moments = job.precision.gradients = Dtype::kBf16;
  const std::int64_t most = largest_micro_batch(m, job, stack("megatron"), gpu());
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 4);
  job.micro_batch = job.global_batch = most;
  EXPECT_TRUE(training_memory(m, job, stack("megatron"), gpu()).fits());
  job.micro_batch = job.global_batch = most + 1;
  EXPECT_FALSE(training_memory(m, job, stack("megatron"), gpu()).fits());
}

// suite45 T3.2 and T4.2.
TEST(TrainingMemory, RecomputationAndSequenceParallelism) {
  const Architecture small = load_model("llama-2-13b");
  TrainingJob job;
  job.seq = 4096;
  const auto activations = [&](Recompute r) {
    job.recompute = r;
    return training_memory(small, job, stack("megatron"), gpu("h100-sxm")).activations;
  };
  EXPECT_GE(activations(Recompute::kNone) / activations(Recompute::kFull), 3);

  const Architecture large = load_model("llama-3-70b");
  TrainingJob one, eight;
  one.seq = eight.seq = 32768;
  eight.plan.tp = 8;
  eight.plan.sequence_parallel = true;
  const TrainingMemory a = training_memory(large, one, stack("megatron"), gpu("h100-sxm"));
  const TrainingMemory b = training_memory(large, eight, stack("megatron"), gpu("h100-sxm"));
  EXPECT_GE(a.activations / b.activations, 6.5);
  EXPECT_LE(a.activations / b.activations, 8.5);
  EXPECT_GT(8 * b.optimizer, 8 * b.capacity);
}

// suite45 T4.4.
TEST(TrainingMemory, AdaptersOfSeventyBillionParameters) {
  const Architecture m = load_model("llama-2-70b");
  TrainingJob job;
  job.tuning = Tuning::kLora;
  job.lora_targets = {"q", "v"};
  EXPECT_NEAR(trained_parameters(m, job), 32.8e6, 0.05e6);
  const TrainingMemory plain = training_memory(m, job, stack("torchtune"), gpu());
  EXPECT_NEAR(plain.weights.value() / 1e9, 138, 1);
  EXPECT_FALSE(plain.fits());
  job.tuning = Tuning::kQlora;
  job.recompute = Recompute::kFull;  // without, 80 layers of one sequence alone take 52 GB
  const TrainingMemory narrow = training_memory(m, job, stack("torchtune"), gpu());
  EXPECT_TRUE(narrow.fits()) << narrow.summary();
  // 68.5e9 parameters of layers at 0.5 + 1/64 + 1/4096 bytes, two tables of 262 M at 2.
  EXPECT_NEAR(narrow.weights.value() / 1e9, 68.45 * 0.515869 + 2 * 2 * 0.262144, 0.2);
}

// Rajbhandari et al. 2020, figure 1: 7.5 B parameters on 64 GPUs take 120 GB of states in copies,
// 31.4 with stage 1, 16.6 with stage 2, 1.9 with stage 3.
TEST(TrainingMemory, ZeroStages) {
  const Architecture m = gpt(36, 4096, 32, 51200);
  TrainingJob job = classic();
  const double p = chunk_parameters(m, job, 0).all();
  job.plan.dp = 64;
  job.global_batch = 64;
  const auto states = [&](int zero) {
    job.plan.zero = zero;
    const TrainingMemory t = training_memory(m, job, stack("megatron"), gpu());
    return (t.weights + t.gradients + t.optimizer).value() / p;
  };
  EXPECT_DOUBLE_EQ(states(0), 16);
  EXPECT_DOUBLE_EQ(states(1), 4 + 12.0 / 64);
  EXPECT_DOUBLE_EQ(states(2), 2 + 14.0 / 64);
  EXPECT_DOUBLE_EQ(states(3), 16.0 / 64);
  job.plan.shard = 8;  // HSDP
  EXPECT_DOUBLE_EQ(states(3), 16.0 / 8);
}

// FSDP gathers two layers, or the LM head where that is more, and reduces their gradients in fp32;
// context parallelism holds a neighbour's keys and values, or everybody's.
TEST(TrainingMemory, Buckets) {
  const Architecture m = load_model("llama-3-70b");
  TrainingJob job;
  job.plan.dp = 64;
  job.global_batch = 64;
  job.plan.zero = 3;
  const double layer = 8192.0 * (8192 + 2 * 1024 + 8192 + 3 * 28672);
  const auto buckets = [&] {
    return training_memory(m, job, stack("fsdp"), gpu()).buckets.value();
  };
  EXPECT_DOUBLE_EQ(buckets(), 2 * layer * (2 + 4));
  const double head = 128256.0 * 8192;  // more than a layer
  job.plan.prefetch = Prefetch::kPost;  // the next weights come when this layer's are gone
  EXPECT_DOUBLE_EQ(buckets(), head * 2 + 2 * layer * 4);
  job.plan.prefetch = Prefetch::kNone;  // and when its gradients are
  EXPECT_DOUBLE_EQ(buckets(), head * (2 + 4));
  job.plan.prefetch = Prefetch::kPre;
  job.plan.reshard_ranks = 8;  // an eighth of all weights stays
  EXPECT_NEAR(buckets() / (2 * layer * (2 + 4) + 2 * 70.55e9 / 8), 1, 1e-3);
  job.plan.reshard_ranks = 1;
  const double kept = buckets();
  job.plan.reshard_ranks = 0, job.plan.reshard = false;
  EXPECT_GT(buckets(), 2 * 70e9);
  EXPECT_EQ(buckets(), kept);
  job.plan.reshard = true;
  job.precision.fp8_parameters = true;
  EXPECT_DOUBLE_EQ(buckets(), 2 * layer * (1 + 4));
  job.precision.fp8_parameters = false;
  job.tuning = Tuning::kLora;  // no gradients of the base
  EXPECT_DOUBLE_EQ(buckets(), 2 * layer * 2);

  job = {};
  job.seq = 65536;
  job.plan.cp = 8;
  EXPECT_DOUBLE_EQ(buckets(), 2.0 * 2 * 8 * 128 * 8192);
  job.plan.context = ContextMethod::kAllGather;
  EXPECT_DOUBLE_EQ(buckets(), 2.0 * 2 * 8 * 128 * 8192 * 7);
  job.plan.context = ContextMethod::kUlysses;
  EXPECT_EQ(buckets(), 0);
}

TEST(TrainingMemory, Optimizers) {
  const Architecture m = gpt(24, 2048, 16);
  const TrainingMemoryConstants s = stack("megatron");
  TrainingJob job = classic();
  const double p = chunk_parameters(m, job, 0).all(), products = 24.0 * 12 * 2048 * 2048;
  const auto bytes = [&] { return training_memory(m, job, s, gpu()).optimizer.value(); };
  EXPECT_DOUBLE_EQ(bytes(), 12 * p);
  job.precision.moments = Dtype::kInt8;
  EXPECT_DOUBLE_EQ(bytes(), 6 * p);
  job.precision.moments = Dtype::kFp32;
  job.optimizer = Optimizer::kSgd;
  EXPECT_DOUBLE_EQ(bytes(), 8 * p);
  job.optimizer = Optimizer::kMuon;
  EXPECT_NEAR(bytes(), 12 * p - 4 * products, 0.001 * p);
  job.optimizer = Optimizer::kAdafactor;
  EXPECT_NEAR(bytes(), 4 * p, 0.01 * p);
  job.offload_optimizer = true;
  EXPECT_EQ(bytes(), 0);
}

TEST(TrainingMemory, ClosedFormsOfSchedules) {
  TrainingJob job;
  job.plan.pp = 4;
  job.global_batch = 16;
  const auto flight = [&](const char* schedule, int stage, int vp = 1) {
    job.plan.schedule = schedule;
    job.plan.vp = vp;
    return classic_load(job, stage).in_flight;
  };
  EXPECT_EQ(flight("", 0), 4);
  EXPECT_EQ(flight("1f1b", 3), 1);
  EXPECT_EQ(flight("gpipe", 2), 16);
  EXPECT_EQ(flight("zb-h2", 0), 7);
  EXPECT_EQ(flight("", 0, 2), 4 * (1 + 3.0 / 8));  // p (1 + (p-1)/(p v))
  EXPECT_EQ(flight("zb-v", 1, 2), 4);
  EXPECT_EQ(classic_load(job, 1).chunks, (std::vector<int>{1, 6}));
  EXPECT_EQ(flight("dualpipe", 0), 2.5);
  EXPECT_EQ(classic_load(job, 0).chunks, (std::vector<int>{0, 3}));
  job.global_batch = 2;
  EXPECT_EQ(flight("1f1b", 0), 2);
  EXPECT_THROW(flight("spiral", 0), InputError);
}

// Four layers on one stage in pairs of micro-batches: the backward half frees a layer as the
// forward half saves one, so that the peak has one layer more than a micro-batch.
TEST(TrainingMemory, PairsOfPassesRunLayerByLayer) {
  const Architecture m = gpt(4, 1024, 16);
  TrainingJob job;
  const auto saved = [&](const char* schedule, std::int64_t micro_batches) {
    job.plan.schedule = schedule;
    job.global_batch = micro_batches;
    StageLoad load = classic_load(job, 0);
    const TrainingMemoryConstants of = stack("megatron");
    return training_memory(m, job, of, gpu(), load).activations.value() / of.fitted.factor;
  };
  const double layer = layer_bytes(m, job);
  const double one = saved("1f1b", 8);
  EXPECT_NEAR(saved("combined", 8), one + layer, 1e-6 * one);
  EXPECT_NEAR(saved("combined", 1), one, 1e-6 * one);  // no pair
  job.plan.pp = 2;
  job.plan.schedule = "combined";
  job.global_batch = 8;
  EXPECT_TRUE(classic_load(job, 0).in_pairs);
  job.global_batch = 2;  // both forward passes precede the first backward pass
  EXPECT_FALSE(classic_load(job, 0).in_pairs);
}

TEST(TrainingMemory, MomentsOfThePeak) {
  const Architecture m = load_model("llama-3.2-3b");
  const TrainingMemoryConstants torch = stack("torchtune");
  TrainingJob job;
  job.seq = 4096;
  job.micro_batch = job.global_batch = 2;
  job.precision.master_weights = false;
  job.precision.gradients = job.precision.moments = Dtype::kBf16;
  // Without buffers and with one micro-batch the gradients come while the activations go.
  const TrainingMemory loss = training_memory(m, job, torch, gpu());
  EXPECT_EQ(loss.moment, "loss");
  EXPECT_EQ(loss.gradients, Bytes(0));
  EXPECT_NEAR(loss.logits.value(), 8192.0 * 128256 * 14, 1);
  job.recompute = Recompute::kFull;
  job.fused_cross_entropy = true;
  const TrainingMemory step = training_memory(m, job, torch, gpu());
  EXPECT_EQ(step.moment, "end of backward");
  EXPECT_NEAR(step.gradients.value(), step.weights.value(), 1);
  job.global_batch = 4;
  EXPECT_GT(training_memory(m, job, torch, gpu()).total(), step.total());
  // 16-bit inputs of two layers instead of 28 wait on the device, and of the final norm (fp32 and
  // normed) and the head none.
  const Bytes kept = training_memory(m, job, torch, gpu()).activations;
  job.offload_activations = true;
  EXPECT_NEAR(
      (kept - training_memory(m, job, torch, gpu()).activations).value() / torch.fitted.factor,
      8192.0 * 3072 * (28 * 2 + 4 + 2 + 2 - 2 * 2), 1);
}

// Four stages, whose first holds four micro-batches. 16-bit gradients that are freed after each
// backward pass never meet the activations of all four, so that they cost at most what they take,
// and nothing where a micro-batch's activations are larger. Without ZeRO, buckets of gradients cost
// 2 bytes for each parameter; with ZeRO 1, the copies of a gathering cost only at the step.
TEST(TrainingMemory, GradientsBesideTheSums) {
  const Architecture m = gpt(16, 4096, 32);
  TrainingJob job;
  job.seq = 8192, job.plan.pp = 4, job.plan.dp = 2, job.plan.zero = 1, job.global_batch = 16;
  const auto bytes = [&](const TrainingMemoryConstants& s) {
    return training_memory(m, job, s, gpu()).total();
  };
  const Bytes narrow(2 * chunk_parameters(m, job, 0).all());
  TrainingMemoryConstants plain, kept, freed, copied;
  kept.narrow_gradients = freed.narrow_gradients = freed.narrow_gradients_freed = true;
  EXPECT_NEAR((bytes(kept) - bytes(plain)) / narrow, 1, 1e-9);
  EXPECT_EQ(bytes(freed), bytes(plain));  // a micro-batch's activations are larger
  job.seq = 128;
  EXPECT_GT(bytes(freed), bytes(plain));
  EXPECT_LT(bytes(freed), bytes(kept));
  EXPECT_EQ(training_memory(m, job, freed, gpu()).moment, "end of backward");
  copied.gathered_copies = 2;
  const TrainingMemory step = training_memory(m, job, copied, gpu());
  EXPECT_EQ(step.moment, "optimizer step");
  EXPECT_LT(step.total() - bytes(plain), 2 * narrow);
  job.plan.zero = 0;
  EXPECT_EQ(bytes(copied), bytes(plain));
  copied.gradient_buckets = true;
  EXPECT_NEAR((bytes(copied) - bytes(plain)) / narrow, 1, 1e-9);
}

// Deviations worked out by hand: 6 GB of 60 and 8 GB of any job are 10 GB together.
TEST(TrainingMemory, ProbabilityOfFitting) {
  const MemoryError error{0.1, gigabytes(8)};
  TrainingMemory m;
  m.weights = gigabytes(60);
  m.capacity = gigabytes(60);
  EXPECT_DOUBLE_EQ(fit_probability(m, error), 0.5);
  m.capacity = gigabytes(70);
  EXPECT_NEAR(fit_probability(m, error), 0.841345, 1e-6);
  EXPECT_NEAR(memory_error(m, error), 1.0 / 6, 1e-9);
  // A fifth of 50 GB of activations that the router decides are another 10 GB.
  m.routed = gigabytes(50);
  EXPECT_NEAR(memory_error(m, error), std::sqrt(2) / 6, 1e-9);
  m.capacity = gigabytes(60 + 10 * std::sqrt(2));
  EXPECT_NEAR(fit_probability(m, error), 0.841345, 1e-6);
  m.weights = gigabytes(8000);
  EXPECT_GT(fit_probability(m, error), 0);
  EXPECT_LT(fit_probability(m, error), 1e-5);
  EXPECT_EQ(error.share(gigabytes(1)), 0.5);
}

TEST(TrainingMemory, TheChanceToFitFallsWithTheMemoryNeeded) {
  const MemoryError error = stack("hf").fitted.error;
  for (const double capacity : {8.0, 24.0, 80.0, 288.0}) {
    double before = 1;
    for (double needed = 0.5; needed < 4 * capacity; needed *= 1.1) {
      TrainingMemory m;
      m.capacity = gigabytes(capacity), m.weights = gigabytes(needed);
      const double chance = fit_probability(m, error);
      EXPECT_LE(chance, before) << needed << " of " << capacity << " GB";
      before = chance;
    }
    EXPECT_LT(before, 1e-3);
  }
}

// A stack that the catalog does not have is taken to be eager PyTorch.
TEST(TrainingMemory, AStackThatIsNotInTheCatalogIsEagerPyTorch) {
  const TrainingMemoryConstants other = load_training_memory("nobody's", Bundle());
  EXPECT_FALSE(other.fused || other.gradient_buffer);
  EXPECT_TRUE(other.expanded_kv && other.step_copy);
  const TrainingMemoryConstants megatron = load_training_memory("megatron", Bundle());
  EXPECT_TRUE(megatron.fused && megatron.gradient_buffer);
  EXPECT_EQ(megatron.grids, 1);
  // The fitted constants are the same for both.
  EXPECT_EQ(other.fitted.factor, megatron.fitted.factor);
  EXPECT_NE(other.fitted.factor, TrainingMemoryConstants::Fitted().factor);
}

// One file makes a stack: an overlay with a single one has its memory.
TEST(TrainingMemory, AStackIsOneFile) {
  const Bundle one = Bundle().replacing(
      "training", {{"training/stacks/mine.yaml",
                    "doc: my trainer\nsources: [my code]\nmemory: {bucket: 1e6, grids: 3}\n"}});
  ASSERT_EQ(load_training_stacks(one).size(), 1u);
  EXPECT_EQ(load_training_memory("mine", one).grids, 3);
  EXPECT_EQ(load_training_memory("mine", one).bucket, 1e6);
}

// A file that changed the memory of a stack and not its times would mislead.
TEST(TrainingMemory, AFolderOfFactsCannotReplaceAStack) {
  const Bundle changed = Bundle().replacing(
      "training", {{"training/stacks/fsdp.yaml",
                    "doc: my trainer\nsources: [my code]\nmemory: {bucket: 1e6, grids: 3}\n"}});
  EXPECT_THROW(load_training_memory("fsdp", changed), InputError);
}

// Dettmers et al. 2023 (arXiv:2305.14314, abstract and section 5): QLoRA with rank 64 on all
// projections and a paged optimizer fine-tunes 65B on a GPU of 48 GB and 33B on one of 24 GB, with
// sequences of 512 tokens. Adapters are in bf16 (qlora.py). Without paging 65B takes more.
TEST(TrainingMemory, QloraFitsAsPublished) {
  TrainingJob job;
  job.tuning = Tuning::kQlora, job.lora_rank = 64;
  job.lora_targets = {"q", "k", "v", "o", "gate", "up", "down"};
  job.adapter_format = Dtype::kBf16;
  job.seq = 512, job.micro_batch = 1, job.global_batch = 16;
  job.recompute = Recompute::kFull;
  const auto chance = [&](const char* model, const char* device) {
    const TrainingMemoryConstants hf = stack("hf");
    return fit_probability(training_memory(load_model(model), job, hf, gpu(device)),
                           hf.fitted.error);
  };
  job.paged_optimizer = true;
  EXPECT_GT(chance("llama-65b", "rtx-a6000"), 0.85);
  EXPECT_GT(chance("llama-33b", "rtx-4090"), 0.85);
  EXPECT_LT(chance("llama-65b", "rtx-4090"), 0.01);
  const TrainingMemory paged =
      training_memory(load_model("llama-33b"), job, stack("hf"), gpu("rtx-4090"));
  job.paged_optimizer = false;
  const TrainingMemory whole =
      training_memory(load_model("llama-33b"), job, stack("hf"), gpu("rtx-4090"));
  EXPECT_EQ(paged.paged, paged.host);
  // A gradient of two bytes and two moments in fp32 for each of the adapters' parameters.
  const double adapters = trained_parameters(load_model("llama-33b"), job);
  EXPECT_NEAR(whole.optimizer.value(), 8 * adapters, 1);
  EXPECT_NEAR((paged.optimizer + paged.paged).value(), 8 * adapters, 1);
  // A device that is too small takes what it can, and the host the rest.
  Gpu small = gpu("rtx-4090");
  small.memory.usable = whole.total() - 0.5 * whole.optimizer;
  const TrainingMemory half = training_memory(load_model("llama-33b"), job, stack("hf"), small);
  EXPECT_FALSE(half.fits());
  job.paged_optimizer = true;
  const TrainingMemory moved = training_memory(load_model("llama-33b"), job, stack("hf"), small);
  EXPECT_TRUE(moved.fits());
  EXPECT_GT(moved.paged, Bytes(0));
  EXPECT_EQ(moved.total(), *small.memory.usable);
}

// PEFT keeps adapters in fp32, and PyTorch their gradients too: 4 + 4 bytes, without a master copy.
TEST(TrainingMemory, AdaptersInTheirOwnFormat) {
  TrainingJob job;
  job.tuning = Tuning::kLora;
  const Architecture model = load_model("llama-2-7b");
  const TrainingMemoryConstants hf = stack("hf");
  const TrainingMemory plain = training_memory(model, job, hf, gpu());
  set_stack_defaults(job, hf);
  EXPECT_EQ(job.adapter_format, Dtype::kFp32);
  const TrainingMemory peft = training_memory(model, job, hf, gpu());
  const double adapters = trained_parameters(model, job);
  EXPECT_NEAR((peft.weights - plain.weights).value(), 2 * adapters, 1);
  EXPECT_NEAR((plain.optimizer - peft.optimizer).value(), 4 * adapters, 1);
}

}  // namespace training_memory_test
}  // namespace orrery
