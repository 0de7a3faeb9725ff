// Rules of training jobs: each refusal names its numbers. Parameters of a rank, and FLOPs of the
// passes.
#include "orrery/workload/plan/training_job.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_parameters.h"
#include "orrery/workload/training/training_program.h"

namespace orrery {
namespace training_job_test {

Architecture model_of(const char* name) { return load_model(name, Bundle()); }

std::string refusal(const Architecture& model, const TrainingJob& job) {
  try {
    check_job(model, job);
  } catch (const Infeasible& e) {
    return e.what();
  } catch (const InputError& e) {
    return std::string("input: ") + e.what();
  }
  return "";
}

void expect_refused(const Architecture& model, const TrainingJob& job, std::string_view part) {
  const std::string why = refusal(model, job);
  EXPECT_NE(why.find(part), std::string::npos) << "'" << why << "' lacks '" << part << "'";
}

TEST(TrainingJob, RefusesWhatCannotBeLaidOut) {
  const Architecture dense = model_of("llama-2-7b"), moe = model_of("mixtral-8x7b");
  TrainingJob j;
  j.global_batch = 8;
  EXPECT_EQ(refusal(dense, j), "");
  TrainingJob bad = j;
  bad.plan.dp = 3;
  expect_refused(dense, bad, "global batch of 8 sequences does not divide");
  bad = j, bad.plan.pp = 5;
  expect_refused(dense, bad, "32 layers of llama-2-7b do not divide by pp 5 x vp 1");
  expect_refused(dense, bad, "such as 6,7,7,7,5");
  bad.plan.split = {6, 6, 6, 6, 6};
  expect_refused(dense, bad, "split adds up to 30 layers");
  bad.plan.split = {7, 7, 6, 6, 6};
  EXPECT_EQ(refusal(dense, bad), "");
  bad = j, bad.plan.tp = 64;
  expect_refused(dense, bad, "tp 64 does not divide the 32 attention heads");
  bad = j, bad.plan.ep = 16, bad.plan.dp = 16, bad.global_batch = 16;
  expect_refused(moe, bad, "does not divide the 8 experts");
  bad = j, bad.plan.ep = 4, bad.plan.dp = 2, bad.plan.etp = 1;
  expect_refused(moe, bad, "ep 4 x etp 1 = 4 does not divide the 2 ranks");
  bad = j, bad.plan.ep = 2, bad.plan.dp = 2, bad.plan.pp = 2, bad.plan.ep_overlap = true;
  EXPECT_EQ(refusal(moe, bad), "");
  EXPECT_EQ(schedule_name(bad.plan), "combined");
  bad.plan.schedule = "zb-h1";
  expect_refused(moe, bad, "which schedule zb-h1 does not");
  bad = j, bad.plan.cp = 4, bad.seq = 2044;
  expect_refused(dense, bad, "do not divide by 8");
  bad.plan.zigzag = false;
  EXPECT_EQ(refusal(dense, bad), "");
  bad.seq = 2046;
  expect_refused(dense, bad, "one of cp equal parts of a document, 2046 tokens do not divide by 4");
  bad = j, bad.plan.cp = 3, bad.plan.context = ContextMethod::kUlysses, bad.seq = 3072;
  expect_refused(dense, bad, "ulysses");
  bad = j, bad.plan.cp = 8, bad.plan.context = ContextMethod::kUsp, bad.plan.ulysses = 3;
  expect_refused(dense, bad, "ulysses 3 does not divide cp 8");
  bad.plan.ulysses = 0;
  expect_refused(dense, bad, "input: ulysses must not be below 1");
  bad.plan.ulysses = 2, bad.plan.context = ContextMethod::kRing;
  expect_refused(dense, bad,
                 "input: ulysses 2 splits the ranks of context method usp, not of ring");
  bad = j, bad.plan.cp = 2;
  expect_refused(model_of("nemotron-nano-9b"), bad, "recurrent layers");
  bad = j, bad.seq = 0;
  expect_refused(dense, bad, "input: seq must be at least 1, got 0");
  bad = j, bad.plan.vp = 2;
  expect_refused(dense, bad, "pp is 1");
  bad = j, bad.tuning = Tuning::kLora, bad.lora_targets = {"w"};
  expect_refused(dense, bad, "unknown LoRA target 'w'");
}

// Every rank has a different place. Tensor-parallel ranks are neighbours. Stages are distant, or
// near in the other order of ranks.
TEST(TrainingJob, RefusesMixersWithoutABackwardPass) {
  const auto why = [](const char* model) {
    try {
      check_job(model_of(model), {});
    } catch (const NoData& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(why("deepseek-v4-flash"),
            "deepseek-v4-flash: training of compressed attention (DeepSeek-V4) is not modelled");
  EXPECT_EQ(why("minimax-m3"),
            "minimax-m3: training of attention to chosen blocks is not modelled");
}

TEST(TrainingJob, RanksHavePlaces) {
  TrainingPlan p;
  p.tp = 2, p.cp = 2, p.dp = 4, p.pp = 3, p.ep = 4, p.etp = 1;
  EXPECT_EQ(position_of(p, 0), RankPosition());
  EXPECT_EQ(position_of(p, 1), (RankPosition{1, 0, 0, 0, 1}));
  EXPECT_EQ(position_of(p, 2), (RankPosition{0, 1, 0, 0, 2}));
  EXPECT_EQ(position_of(p, 4), (RankPosition{0, 0, 1, 0, 0}));
  EXPECT_EQ(position_of(p, 47), (RankPosition{1, 1, 3, 2, 3}));
  p.order = RankOrder::kPipelineBeforeData;
  EXPECT_EQ(position_of(p, 4), (RankPosition{0, 0, 0, 1, 0}));
  for (const RankOrder order : {RankOrder::kDataBeforePipeline, RankOrder::kPipelineBeforeData}) {
    p.order = order;
    std::set<std::array<int, 4>> places;
    for (int r = 0; r < 48; ++r) {
      const RankPosition at = position_of(p, r);
      places.insert({at.tp, at.cp, at.dp, at.pp});
    }
    EXPECT_EQ(places.size(), 48u);
  }
  EXPECT_THROW(position_of(p, 48), InputError);
  EXPECT_THROW(position_of(p, -1), InputError);
}

TEST(TrainingJob, RefusesFormatsThatNobodyTrainsIn) {
  const Architecture dense = model_of("llama-2-7b");
  TrainingJob j;
  j.precision.compute = Dtype::kInt4;
  expect_refused(dense, j,
                 "input: compute must be one of fp32, tf32, fp16, bf16, fp8, fp4, got int4");
  j.precision.compute = Dtype::kFp64;
  expect_refused(dense, j, "got fp64");
  j = {}, j.precision.activations = Dtype::kFp8;
  expect_refused(dense, j, "input: activations must be one of fp32, fp16, bf16, got fp8");
  j = {}, j.precision.gradients = Dtype::kInt4;
  expect_refused(dense, j, "input: gradients must be one of fp32, fp16, bf16, got int4");
  j = {}, j.precision.moments = Dtype::kFp4;
  expect_refused(dense, j, "input: moments must be one of fp32, bf16, fp16, fp8, int8, got fp4");
  j = {}, j.precision.compute = Dtype::kFp32;
  expect_refused(dense, j,
                 "input: products in fp32 do not read activations in bf16: give activations fp32");
  j.precision.compute = Dtype::kFp16;
  expect_refused(dense, j, "give activations fp16");
  j = {}, j.precision.activations = Dtype::kFp32;  // autocast narrows
  EXPECT_NO_THROW(check_job(dense, j));
}

// An expert takes at most capacity_factor times the mean; above the heaviest rank's load nothing is
// dropped.
TEST(TrainingProgram, CapacityBoundsTheHeaviestRank) {
  const Architecture moe = model_of("mixtral-8x7b");
  TrainingJob j;
  j.plan.dp = j.plan.ep = 4, j.global_batch = 4, j.expert_skew = 1.2;
  const auto tokens = [&] {
    for (const TrainingOp& op : training_ops(moe, j, 0))
      if (const auto* g = std::get_if<Gemm>(&op.op); g && op.cost == TrainingCost::kExperts)
        return static_cast<double>(g->m) * op.count / moe.layers.size();  // of a layer's experts
    return 0.0;
  };
  const double mean = 2048 * 2;  // two experts a token, four ranks' tokens over four ranks
  const double all = tokens();
  EXPECT_GT(all, 1.25 * mean);
  j.capacity_factor = 1.25;
  EXPECT_NEAR(tokens(), 1.25 * mean, 2);
  j.capacity_factor = 1;
  EXPECT_NEAR(tokens(), mean, 2);
  j.capacity_factor = 4;
  EXPECT_EQ(tokens(), all);
}

// Two products an expert and a layer, three times each with their gradients: 6 FLOPs for each of
// its weights and tokens.
TEST(TrainingProgram, ExpertsAreProductsOfTheirOwn) {
  const Architecture moe = model_of("mixtral-8x7b");
  TrainingJob j;
  j.plan.dp = j.plan.ep = 4, j.plan.tp = 2, j.plan.sequence_parallel = true, j.global_batch = 4;
  const auto work = [&] {
    double sum = 0;
    for (const TrainingOp& op : training_ops(moe, j, 0)) {
      const auto* g = std::get_if<Gemm>(&op.op);
      if (g && op.cost == TrainingCost::kExperts) sum += op.count * flops(*g).value();
    }
    return sum;
  };
  // 2,048 tokens of four data-parallel ranks, two experts each, on eight GPUs.
  const double each = 32 * 6.0 * 3 * 4096 * 14336 * 2048 * 4 * 2 / 8;
  j.capacity_factor = 1;
  EXPECT_NEAR(work() / each, 1, 1e-3);
  j.plan.etp = 1;
  EXPECT_NEAR(work() / each, 1, 1e-3);
}

// One kernel for a rank's experts: their FLOPs, weights and results, launched once a layer.
TEST(TrainingProgram, OneKernelForAllExperts) {
  const Architecture moe = model_of("mixtral-8x7b");
  TrainingJob j;
  j.plan.dp = j.plan.ep = 4, j.global_batch = 4;
  std::size_t products = 0;
  for (const TrainingOp& op : training_ops(moe, j, 0)) {
    const auto* one = std::get_if<Gemm>(&op.op);
    if (!one || op.cost != TrainingCost::kExperts) continue;
    ++products;
    ASSERT_EQ(op.experts, 2);
    const TrainingOp grouped = one_for_all(op);
    const Gemm& all = std::get<Gemm>(grouped.op);
    EXPECT_EQ(grouped.count * 2, op.count);
    EXPECT_EQ(flops(all).value(), 2 * flops(*one).value());
    EXPECT_EQ(all.m, one->m);
    EXPECT_EQ(all.n * all.k, 2 * one->n * one->k);
  }
  EXPECT_EQ(products, 6u);
}

// Experts that are split over tensor-parallel ranks gather copies from these ranks after the
// all-to-all, and scatter partial results; the backward pass has as many transfers. Whole experts
// have none.
TEST(TrainingProgram, SplitExpertsGatherTheCopies) {
  const Architecture moe = model_of("mixtral-8x7b");
  TrainingJob j;
  j.plan.dp = j.plan.ep = 4, j.plan.tp = 2, j.plan.sequence_parallel = true, j.global_batch = 4;
  j.capacity_factor = 1;
  const auto bytes_of = [&](std::string_view name) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(moe, j, 0))
      if (const auto* c = std::get_if<Collective>(&op.op); c && op.name == name)
        sum += op.count * c->bytes.value();
    return sum;
  };
  const double copies = 32 * 1024.0 * 2 * 4096 * 2;  // of a rank's tokens, all layers
  EXPECT_NEAR(bytes_of("moe_dispatch") / (2 * copies), 1, 1e-3);
  EXPECT_NEAR(bytes_of("moe_gather") / (4 * 2 * copies), 1, 1e-3);
  const double split = bytes_of("tp_all_reduce");
  j.plan.etp = 1;
  EXPECT_NEAR(bytes_of("moe_dispatch") / (2 * copies), 1, 1e-3);
  EXPECT_EQ(bytes_of("moe_gather"), 0);
  EXPECT_EQ(bytes_of("tp_all_reduce"), split);
  j.plan.etp = 2, j.plan.dispatcher = ExpertDispatcher::kFlex;
  EXPECT_EQ(bytes_of("moe_gather"), 0);
}

// Eight context-parallel ranks are two groups of four. Ranks of a group share heads, the groups
// share the sequence: an all-to-all of queries, keys and values inside a group, then one hop to the
// rank four places on.
TEST(TrainingProgram, UspExchangesHeadsNearAndSequencesFar) {
  const Architecture dense = model_of("llama-3-8b");
  TrainingJob j;
  j.plan.cp = 8, j.plan.context = ContextMethod::kUsp, j.plan.ulysses = 4, j.seq = 8192;
  j.global_batch = 1;
  check_job(dense, j);
  const double kv = 1024.0 * 8 * 256 * 2, q = 1024.0 * 32 * 256 * 2;  // of 1,024 tokens, a layer
  double sent = 0, hops = 0;
  for (const TrainingOp& op : training_ops(dense, j, 0)) {
    const auto* c = std::get_if<Collective>(&op.op);
    if (!c || op.cost != TrainingCost::kContext) continue;
    const bool ring = c->kind == Collective::Kind::kAllGather;
    EXPECT_EQ(c->ranks, ring ? 2 : 4);
    EXPECT_EQ(op.apart, ring ? 4 : 1);
    (ring ? hops : sent) += op.count * c->bytes.value() / 32;
  }
  EXPECT_DOUBLE_EQ(sent, 2 * (kv + q));  // forward and backward
  EXPECT_DOUBLE_EQ(hops, 3 * 2 * kv);    // backward with the gradients
}

// Tokens are copied to their top_k places by expert and back, by local expert where they arrive and
// back; DeepEP sends them as they are.
TEST(TrainingProgram, TokensAreLaidOutByExpert) {
  const Architecture moe = model_of("mixtral-8x7b");
  TrainingJob j;
  const auto bytes_of = [&](std::string_view name, TrainingPass pass) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(moe, j, 0)) {
      const auto* e = std::get_if<Elementwise>(&op.op);
      if (e && op.name == name && op.pass == pass) sum += op.count * (e->read + e->written).value();
    }
    return sum;
  };
  const double layer = 2048 * 4096 * 2.0, layers = 32;  // bytes of the tokens of a layer
  EXPECT_NEAR(bytes_of("moe_permute", TrainingPass::kForward) / (layers * 2 * 3 * layer), 1, 1e-9);
  EXPECT_EQ(bytes_of("moe_permute", TrainingPass::kBackwardInput),
            bytes_of("moe_permute", TrainingPass::kForward));
  EXPECT_NEAR(bytes_of("moe_router", TrainingPass::kForward), layers * 5 * 2 * 2048 * 8 * 4.0, 1);
  EXPECT_EQ(bytes_of("moe_permute", TrainingPass::kRecompute), 0);
  j.plan.dp = j.plan.ep = 8, j.global_batch = 8;
  const double all = bytes_of("moe_permute", TrainingPass::kForward);
  EXPECT_GT(all, layers * (2 * 3 + 2 * 4) * layer * (1 - 1e-9));  // the busiest rank has more
  j.plan.dispatcher = ExpertDispatcher::kFlex;
  EXPECT_NEAR((all - bytes_of("moe_permute", TrainingPass::kForward)) / (layers * 2 * 3 * layer), 1,
              1e-9);
}

// gpt-oss adds a bias times the router's probability to every copy of a token: 28 bytes an element
// forward and 36 backward; its activation's inputs are clamped before. What a fused kernel does
// itself is marked: those, the activation, and in narrow formats one cast of the two before each
// pass's products.
TEST(TrainingProgram, WhatStandsBetweenExperts) {
  TrainingJob j;
  j.seq = 512;
  const auto bytes_between = [&](const Architecture& model, std::string_view name,
                                 TrainingPass pass, TrainingCost cost) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(model, j, 0)) {
      const auto* e = std::get_if<Elementwise>(&op.op);
      if (!op.between_experts || op.fusible) continue;  // eager kernels are fusible
      EXPECT_NE(e, nullptr) << op.name;
      if (e && op.name == name && op.pass == pass && op.cost == cost)
        sum += op.count * (e->read + e->written).value();
    }
    return sum;
  };
  const Architecture oss = model_of("gpt-oss-20b");
  const double copies = 24 * 512 * 4.0;  // layers, tokens, experts of each
  const auto biases = [&](TrainingPass pass) {
    return bytes_between(oss, "moe_bias", pass, TrainingCost::kElementwise);
  };
  EXPECT_NEAR(biases(TrainingPass::kForward) / (copies * 2880), 28, 1e-9);
  EXPECT_NEAR(biases(TrainingPass::kBackwardInput) / (copies * 2880), 36, 1e-9);
  EXPECT_NEAR(bytes_between(oss, "moe_clamp", TrainingPass::kForward, TrainingCost::kElementwise) /
                  (copies * 2880),
              16, 1e-9);
  const Architecture moe = model_of("mixtral-8x7b");
  EXPECT_EQ(bytes_between(moe, "moe_bias", TrainingPass::kForward, TrainingCost::kElementwise), 0);
  const double rows = 32 * 512 * 2.0, inner = 14336;
  EXPECT_NEAR(
      bytes_between(moe, "moe_experts", TrainingPass::kForward, TrainingCost::kElementwise) /
          (rows * inner * 6),
      1, 1e-9);
  EXPECT_EQ(bytes_between(moe, "moe_experts", TrainingPass::kForward, TrainingCost::kCasts), 0);
  j.precision.compute = Dtype::kFp8;
  // Read in 16 bits and written in 8 with its transpose: the second product's input; backward the
  // gradient of the gated first product's output.
  EXPECT_NEAR(bytes_between(moe, "moe_experts", TrainingPass::kForward, TrainingCost::kCasts) /
                  (rows * inner * 4),
              1, 1e-3);
  EXPECT_NEAR(
      bytes_between(moe, "moe_experts", TrainingPass::kBackwardInput, TrainingCost::kCasts) /
          (rows * 2 * inner * 4),
      1, 1e-3);
}

// Rank 16 on q and v: 80 * 16 * (8192 + 8192 + 8192 + 1024) (suite T4.4).
TEST(TrainingJob, LoraOfLlama70b) {
  TrainingJob j;
  j.tuning = Tuning::kLora;
  j.lora_targets = {"q", "v"};
  EXPECT_EQ(trained_parameters(model_of("llama-2-70b"), j), 80.0 * 16 * (3 * 8192 + 1024));
}

// DoRA's norms read every adapted weight once a pass, however many tokens there are.
TEST(TrainingProgram, DoraTakesNormsOfTheAdaptedWeights) {
  const Architecture m = model_of("llama-2-7b");
  TrainingJob j;
  j.tuning = Tuning::kDora, j.lora_targets = {"q", "v"};
  const auto norms = [&] {
    double flops_of = 0, bytes_of = 0;
    for (const TrainingOp& op : training_ops(m, j, 0)) {
      if (op.name != "dora" || op.pass != TrainingPass::kForward) continue;
      if (const auto* g = std::get_if<Gemm>(&op.op)) flops_of += op.count * flops(*g).value();
      if (const auto* e = std::get_if<Elementwise>(&op.op))
        if (e->kind == Elementwise::Kind::kNorm)
          bytes_of += op.count * (e->read + e->written).value();
    }
    return std::pair(flops_of, bytes_of);
  };
  const double weights = 32 * 2 * 4096.0 * 4096;
  EXPECT_EQ(norms(), std::pair(2 * 16 * weights, 4 * 2 * weights));
  j.micro_batch = j.global_batch = 4;
  EXPECT_EQ(norms(), std::pair(2 * 16 * weights, 4 * 2 * weights));
  j.tuning = Tuning::kLora;
  EXPECT_EQ(norms(), std::pair(0.0, 0.0));
}

TEST(TrainingJob, RanksHoldTheWholeModelTogether) {
  const Architecture m = model_of("mixtral-8x7b");
  TrainingJob j;
  j.plan.pp = 4, j.plan.dp = 8, j.plan.ep = 8, j.plan.etp = 1, j.global_batch = 8;
  double dense = 0, experts = 0;
  for (int c = 0; c < 4; ++c) {
    const ChunkParameters n = chunk_parameters(m, j, c);
    dense += n.dense, experts += 8 * n.experts;
  }
  EXPECT_NEAR(experts, 32.0 * 8 * 3 * 4096 * 14336, 1);
  EXPECT_NEAR((dense + experts) / 46.7e9, 1, 0.002);  // published; the vocabulary is padded
}

double flops_of(const std::vector<TrainingOp>& ops, TrainingCost cost) {
  double sum = 0;
  for (const TrainingOp& op : ops)
    if (op.cost == cost) sum += op.count * flops(op.op).value();
  return sum;
}

// Llama-2-7B, 8192 tokens: products of a layer 6 * tokens * weights; causal attention 3.5 times its
// forward; recomputation adds a forward.
TEST(TrainingProgram, FlopsOfTheePasses) {
  const Architecture m = model_of("llama-2-7b");
  TrainingJob j;
  j.micro_batch = 4, j.global_batch = 4;
  const double weights = 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008);
  EXPECT_NEAR(flops_of(training_ops(m, j, 0), TrainingCost::kProducts) / (6 * 8192 * weights), 1,
              1e-9);
  const double pairs = 2048.0 * 2049 / 2;
  const double core = 32 * 4 * 32 * pairs * 2 * (128 + 128);
  EXPECT_NEAR(flops_of(training_ops(m, j, 0), TrainingCost::kAttention) / core, 1, 1e-9);
  EXPECT_NEAR(flops_of(training_ops(m, j, 0), TrainingCost::kAttentionBackward) / (2.5 * core), 1,
              1e-9);
  j.recompute = Recompute::kFull;
  EXPECT_NEAR(flops_of(training_ops(m, j, 0), TrainingCost::kProducts) / (8 * 8192 * weights), 1,
              1e-9);
  EXPECT_NEAR(model_flops_per_token(m, j) * 8192,
              6 * 8192 * (weights + 32000.0 * 4096 + 65 * 4096) + 3 * core, 1e9);
  // Context parallelism divides all of these.
  TrainingJob half = j;
  half.plan.cp = 2;
  EXPECT_NEAR(flops_of(training_ops(m, half, 0), TrainingCost::kAttention) / core, 1, 1e-3);
}

TEST(TrainingProgram, SequenceParallelMovesTheSameBytes) {
  const Architecture m = model_of("llama-2-7b");
  TrainingJob j;
  j.plan.tp = 4;
  const auto bytes_of = [&](TrainingPass pass) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(m, j, 0)) {
      const auto* c = std::get_if<Collective>(&op.op);
      if (!c || op.pass != pass || op.name != "tp_all_reduce") continue;
      sum += op.count * c->bytes.value() * (c->kind == Collective::Kind::kAllReduce ? 2 : 1);
    }
    return sum;
  };
  const double forward = bytes_of(TrainingPass::kForward);
  EXPECT_NEAR(forward, 2.0 * 32 * 2 * 2048 * 4096 * 2, 1);
  j.plan.sequence_parallel = true;
  EXPECT_NEAR(bytes_of(TrainingPass::kForward), forward, 1);
  EXPECT_NEAR(bytes_of(TrainingPass::kBackwardInput), forward, 1);
}

}  // namespace training_job_test
}  // namespace orrery
