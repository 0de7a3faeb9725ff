#include "orrery/memory/training_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/memory/saved_activations.h"
#include "orrery/model/catalog.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

// Layer norms with biases, GELU, MHA, f = 4h: the layers of Korthikanti et al. 2022.
Architecture gpt(int layers, int hidden, int heads, int vocab = 51200) {
  Architecture m;
  m.id = "gpt";
  m.hidden = hidden;
  m.vocab = vocab;
  m.norm = Norm::kLayer;
  m.tied_embeddings = true;
  SoftmaxAttention a;
  a.heads = a.kv_heads = heads;
  a.head_dim = a.value_dim = hidden / heads;
  m.layers.append({.mixer = a, .cross_attention = {}, .mlp = DenseMlp{4 * hidden, false, true}},
                  layers);
  return m;
}

TrainingJob classic(int tp = 1, bool sequence_parallel = false) {
  TrainingJob job;
  job.plan.tp = tp;
  job.plan.sequence_parallel = sequence_parallel;
  job.flash = false;
  job.dropout = true;
  job.precision.gradients = Dtype::kBf16;
  return job;
}

double layer_bytes(const Architecture& m, const TrainingJob& job) {
  return layer_activations(m, m.layers.specs()[0], job, {}).saved.value();
}

Gpu gpu(const char* id = "a100-80g-sxm") { return Catalog().gpu(id); }

TrainingMemoryConstants stack(const char* name) { return load_training_memory(name, Bundle()); }

// Table 2 of Korthikanti et al. 2022: s b h (10 + 24/t + 5 a s/(h t)) with tensor parallelism, all
// of it divided by t with sequence parallelism too, the quadratic term dropped by selective and
// 2 s b h kept by full recomputation. Their 22B model: 48 layers, h 6144, a 64, s 2048, b 4, t 8.
TEST(SavedActivations, KorthikantisTable) {
  const Architecture m = gpt(48, 6144, 64);
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8;
  TrainingJob job = classic(8);
  job.micro_batch = job.global_batch = 4;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
  job.plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), s * b * h / t * (34 + 5 * a * s / h));

  const double head = 2 * s * b * h / t * 2;  // final norm and LM head: their section 4.3
  job.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(), 48 * s * b * h / t * 34 + head);
  job.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(), 48 * 2 * s * b * h / t + head);
  job.recompute_layers = 12;
  EXPECT_DOUBLE_EQ(chunk_activations(m, job, {}, 0).value(),
                   s * b * h / t * (12 * 2 + 36 * (34 + 5 * a * s / h)) + head);
}

// Figure 1 of the same paper: the 530B model (105 layers, h 20480, a 128, b 1, t 8, p 35) with
// tensor parallelism alone stores s b h L (10 + 24/t + 5 a s/(h t)) on the first stage of 1F1B,
// whatever p is.
TEST(SavedActivations, FirstStageHoldsAsMuchAsTheWholeModelWould) {
  const Architecture m = gpt(105, 20480, 128);
  TrainingJob job = classic(8);
  job.plan.pp = 35;
  job.global_batch = 280;
  const double layer = 2048.0 * 20480 * (10 + 3 + 5 * 128 * 2048.0 / (20480 * 8));
  const StageLoad first = classic_load(job, 0);
  EXPECT_EQ(first.in_flight, 35);
  EXPECT_NEAR(first.in_flight * chunk_activations(m, job, {}, 0).value() / (105 * layer), 1, 1e-12);
}

// Llama-3-8B by hand: 4096 wide, 32 heads of 128, 8 key-value heads, 14336 wide MLP, flash.
TEST(SavedActivations, GroupedQueriesAndGatedMlp) {
  const Architecture m = load_model("llama-3-8b");
  TrainingJob job;
  job.seq = 8192;
  const double tokens = 8192, lse = 4 * 32;
  // Two norms, two inputs, q, k and v, output; gate and up, their product.
  const double fused = 2 * (4 * 4096 + 4096 + 2048 + 4096 + 3 * 14336) + lse;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), tokens * fused);
  // PyTorch's eager layers: fp32 inputs of norms beside the normed rows, 32 key and value heads,
  // the activated gate.
  TrainingMemoryConstants eager;
  eager.fused = false;
  eager.expanded_kv = true;
  const double more = 2 * 4 * 4096 + 2 * (8192 - 2048) + 2 * 14336;
  EXPECT_DOUBLE_EQ(layer_activations(m, m.layers.specs()[0], job, eager).saved.value(),
                   tokens * (fused + more));
  // fp8: operands in one byte; attention's output is kept in both.
  job.precision.compute = Dtype::kFp8;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), tokens * (fused - 2 * 4096 + 4096 - 14336));
}

TEST(SavedActivations, FrozenWeightsNeedFewerInputs) {
  const Architecture m = load_model("llama-2-7b");
  TrainingJob job;
  job.tuning = Tuning::kLora;
  job.lora_targets = {"q", "v"};
  // Norm inputs, the input of q and v, q, k, v and the output, gate and up; lse.
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (2 * (7 * 4096 + 2 * 11008.0) + 4 * 32));
  job.lora_targets = {"q", "v", "down"};
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (2 * (7 * 4096 + 3 * 11008.0) + 4 * 32));
}

// Mixtral 8x7B, 8 ways expert parallel: each rank's 2 * T routed rows, balanced.
TEST(SavedActivations, RoutedRows) {
  const Architecture m = load_model("mixtral-8x7b");
  TrainingJob job;
  job.plan.dp = job.plan.ep = 8;
  job.global_batch = 8;
  const double attention = 2 * (2 * 4096 + 4096 + 4096 + 2048 + 4096) + 4 * 32;
  const double moe = 2 * 4096 + 8 * 8 + 2 * 2 * (2 * 4096 + 3 * 14336);
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), 2048 * (attention + moe));
  const double balanced = layer_bytes(m, job);
  job.expert_skew = 1;
  EXPECT_GT(layer_bytes(m, job), 1.2 * balanced);
  job.capacity_factor = 1;
  EXPECT_DOUBLE_EQ(layer_bytes(m, job), balanced);
  // Experts of tensor-parallel ranks: the same rows, each of a part of the width.
  job = {};
  job.plan.tp = 2;
  job.plan.sequence_parallel = true;
  EXPECT_LT(layer_bytes(m, job), 0.75 * balanced);
}

TEST(SavedActivations, ContextParallelDividesTokens) {
  const Architecture m = load_model("llama-3-8b");
  TrainingJob one, four;
  one.seq = four.seq = 32768;
  four.plan.cp = 4;
  EXPECT_DOUBLE_EQ(layer_bytes(m, one), 4 * layer_bytes(m, four));
}

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

TEST(TrainingMemory, ProbabilityOfFitting) {
  TrainingMemory m;
  m.capacity = m.weights = gigabytes(80);
  EXPECT_DOUBLE_EQ(fit_probability(m, 0.1), 0.5);
  m.weights = gigabytes(80) * std::exp(-0.1);
  EXPECT_NEAR(fit_probability(m, 0.1), 0.841345, 1e-6);
  m.weights = gigabytes(8000);
  EXPECT_GT(fit_probability(m, 0.1), 0);
  EXPECT_LT(fit_probability(m, 0.1), 1e-5);
}

TEST(TrainingMemory, CatalogNamesEveryFamilyOnce) {
  int others = 0;
  std::vector<std::string> seen;
  for (const TrainingMemoryConstants& c : load_training_memory(Bundle())) {
    if (c.stacks.empty()) ++others;
    for (const std::string& s : c.stacks) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), s), 0) << s;
      seen.push_back(s);
    }
  }
  EXPECT_EQ(others, 1);
  EXPECT_EQ(load_training_memory("nobody's", Bundle()).name, "torch");
}

// ---- laws ---------------------------------------------------------------------------------------

struct Case {
  Architecture model;
  TrainingJob job;
};

Case arbitrary_case() {
  const int heads = 1 << *rc::gen::inRange(3, 6);
  Case c{gpt(8 * *rc::gen::inRange(1, 5), 64 * heads, heads, 32000), {}};
  TrainingJob& j = c.job;
  j.plan.tp = 1 << *rc::gen::inRange(0, 4);
  j.plan.pp = 1 << *rc::gen::inRange(0, 3);
  j.plan.dp = 1 << *rc::gen::inRange(0, 4);
  j.plan.zero = *rc::gen::inRange(0, 4);
  j.plan.sequence_parallel = *rc::gen::arbitrary<bool>();
  j.seq = 256 * *rc::gen::inRange<std::int64_t>(1, 20);
  j.micro_batch = *rc::gen::inRange(1, 5);
  j.global_batch = j.micro_batch * j.plan.dp * *rc::gen::inRange(1, 20);
  j.flash = *rc::gen::arbitrary<bool>();
  j.dropout = *rc::gen::arbitrary<bool>();
  j.fused_cross_entropy = *rc::gen::arbitrary<bool>();
  j.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  return c;
}

const std::vector<TrainingMemoryConstants>& stacks() {
  static const auto all = load_training_memory(Bundle());
  return all;
}

RC_GTEST_PROP(TrainingMemoryLaw, PartsAddUpAndNoneIsNegative, ()) {
  const Case c = arbitrary_case();
  for (const TrainingMemoryConstants& s : stacks()) {
    const TrainingMemory m = training_memory(c.model, c.job, s, gpu());
    double sum = 0;
    for (const MemoryItem& i : m.items()) {
      RC_ASSERT(i.size >= Bytes(0));
      sum += i.size.value();
    }
    RC_ASSERT(sum == m.total().value());
    RC_ASSERT(m.allocated() <= m.reserved() && m.reserved() <= m.total());
  }
}

RC_GTEST_PROP(TrainingMemoryLaw, TheWholeJobIsItsFullestStage, ()) {
  Case c = arbitrary_case();
  c.job.plan.pp = 8;
  const char* const schedules[] = {"1f1b", "gpipe", "zb-h1", "zb-h2", "dualpipe"};
  c.job.plan.schedule = schedules[*rc::gen::inRange(0, 5)];
  Bytes most;
  for (int s = 0; s < 8; ++s)
    most =
        std::max(most, training_memory(c.model, c.job, {}, gpu(), classic_load(c.job, s)).total());
  RC_ASSERT(training_memory(c.model, c.job, {}, gpu()).total() == most);
}

RC_GTEST_PROP(TrainingMemoryLaw, MoreOfAnythingTakesMore, ()) {
  const Case c = arbitrary_case();
  const TrainingMemoryConstants& s = stacks()[static_cast<std::size_t>(
      *rc::gen::inRange<int>(0, static_cast<int>(stacks().size())))];
  const auto total = [&](const Architecture& m, const TrainingJob& j) {
    return training_memory(m, j, s, gpu()).total();
  };
  const Bytes base = total(c.model, c.job);
  TrainingJob more = c.job;
  // The peak may lie in the optimizer's step, where no activations are.
  more.seq += 256;
  RC_ASSERT(total(c.model, more) >= base);
  more = c.job;
  more.micro_batch *= 2, more.global_batch *= 2;
  RC_ASSERT(total(c.model, more) >= base);
  RC_ASSERT(chunk_activations(c.model, more, s, 0) > chunk_activations(c.model, c.job, s, 0));
  Architecture deeper = c.model;
  deeper.layers.append(c.model.layers.at(0), c.job.plan.pp);
  RC_ASSERT(total(deeper, c.job) > base);
}

RC_GTEST_PROP(TrainingMemoryLaw, ShardingAndRecomputationOnlySave, ()) {
  Case c = arbitrary_case();
  // States only: what passes between ranks costs buffers.
  const auto states = [&](const TrainingJob& j) {
    const TrainingMemory m = training_memory(c.model, j, {}, gpu());
    return (m.weights + m.gradients + m.optimizer).value();
  };
  double last = INFINITY;
  for (int zero = 0; zero < 4; ++zero) {
    c.job.plan.zero = zero;
    RC_ASSERT(states(c.job) <= last);
    last = states(c.job);
  }
  last = INFINITY;
  for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    c.job.recompute = r;
    const double now = chunk_activations(c.model, c.job, {}, 0).value();
    RC_ASSERT(now <= last);
    last = now;
  }
  c.job.plan.tp = 1;
  c.job.plan.sequence_parallel = true;
  const double one = layer_bytes(c.model, c.job);
  c.job.plan.tp = 4;
  RC_ASSERT(std::abs(one / layer_bytes(c.model, c.job) - 4) < 1e-9);
  c.job.plan.sequence_parallel = false;
  RC_ASSERT(layer_bytes(c.model, c.job) > one / 4);
}

}  // namespace
}  // namespace orrery
