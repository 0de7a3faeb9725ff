// The parts of an iteration: reductions, gathers and sends.
#include "orrery/training/iteration/iteration_parts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/schedules/schedule.h"
#include "tests/unit/training/iteration_fixture.h"

namespace orrery {
namespace iteration_parts_test {

using namespace iteration_fixture;

TEST(IterationParts, DataParallelRanksReduceEveryGradient) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(8);
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.plan.dp = 8;
  j.precision.gradients = Dtype::kFp32;
  // 12 h^2 a layer and the embedding, which the LM head shares; norms and biases are a thousandth.
  const double parameters = 8 * 12 * 4096.0 * 4096 + (51200 + 2048) * 4096.0;
  const auto reduce = [&](const StackTraits& stack) {
    return machine.parts(model, j, stack).stages.at(0).reduce.value();
  };
  const double wanted = machine.all_reduce(j.plan, 4 * parameters).value();
  EXPECT_NEAR(reduce({.bucket = 1e12}), wanted, 0.01 * wanted);
  // A layer at a time, and in ten buckets of 200 M at most.
  const double of_layer = machine.all_reduce(j.plan, 4 * parameters / 8).value();
  EXPECT_NEAR(reduce({}), 8 * of_layer, 0.01 * wanted);
  EXPECT_EQ(machine.parts(model, j, {.bucket = 200e6}).stages.at(0).buckets,
            std::ceil(parameters / 200e6));
  // Eight ranks at 50 M each.
  EXPECT_EQ(machine.parts(model, j, {.bucket = 200e6, .bucket_of_rank = 50e6}).stages.at(0).buckets,
            std::ceil(parameters / 400e6));
}

// Weights gathered inside a node of eight are there sooner than from 32 ranks; their gradients are
// then reduced between the nodes. Kept weights are not gathered again.
TEST(IterationParts, HybridShardsAndKeptWeights) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(32, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 32, j.plan.zero = 3;
  const IterationParts all = machine.parts(model, j);
  j.plan.shard = 8;
  const IterationParts hybrid = machine.parts(model, j);
  EXPECT_LT(hybrid.kinds[0].gather, all.kinds[0].gather);
  EXPECT_EQ(all.stages[0].reduce, Seconds(0));
  EXPECT_GT(hybrid.stages[0].reduce, Seconds(0));
  EXPECT_GT(hybrid.stages[0].optimizer, 3 * all.stages[0].optimizer);
  j.plan.reshard = false;
  const IterationParts kept = machine.parts(model, j);
  EXPECT_EQ(kept.kinds[0].gather, hybrid.kinds[0].gather);
  EXPECT_EQ(kept.kinds[0].gather_again, Seconds(0));
  EXPECT_GT(hybrid.kinds[0].gather_again, Seconds(0));
}

// Weights of 32 ranks, of which the eight of a node keep a copy between them after the forward
// pass: they come back as fast as where eight alone share them. One rank keeps all.
TEST(IterationParts, WeightsKeptByNeighbours) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(32, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 32, j.plan.zero = 3;
  const ChunkParts all = machine.parts(model, j).kinds[0];
  j.plan.reshard_ranks = 8;
  const ChunkParts node = machine.parts(model, j).kinds[0];
  EXPECT_EQ(node.gather, all.gather);
  EXPECT_EQ(node.scatter, all.scatter);
  j.plan.reshard_ranks = 0, j.plan.shard = 8;
  EXPECT_EQ(node.gather_again, machine.parts(model, j).kinds[0].gather_again);
  EXPECT_LT(node.gather_again, all.gather_again);
  j.plan.reshard_ranks = 1;
  EXPECT_EQ(machine.parts(model, j).kinds[0].gather_again, Seconds(0));
  j.plan.reshard_ranks = 3;
  EXPECT_THROW(machine.parts(model, j), Infeasible);
}

// Experts have as many copies as the other weights if nodes of eight GPUs shard the weights of 16
// ranks.
TEST(IterationParts, HybridShardsOfExperts) {
  const Architecture model = load_model("mixtral-8x7b", Bundle());
  const Machine machine(16, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 16, j.plan.ep = 2, j.plan.zero = 3;
  EXPECT_EQ(machine.parts(model, j).stages[0].reduce, Seconds(0));
  j.plan.shard = 8;
  const IterationParts hybrid = machine.parts(model, j);
  TrainingJob dense = j;
  dense.plan.ep = 1;  // the same parameters on each rank's share, all of them in one group
  EXPECT_NEAR(hybrid.stages[0].reduce / machine.parts(model, dense).stages[0].reduce, 1, 0.1);
}

// Under ZeRO 2 a rank holds a part of the gradients, so each micro-batch scatters them: with m
// micro-batches m - 1 times more than ZeRO 1, which adds them up first. The scatter of all layers
// is that of ZeRO 3.
TEST(IterationParts, ZeroTwoScattersTheGradientsOfEveryMicroBatch) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(16, "h100-sxm");
  const auto job = [](int zero, std::int64_t micro_batches) {
    TrainingJob j = job_of(1, 1, 1, 1, 16 * micro_batches);
    j.plan.dp = 16, j.plan.zero = zero;
    return j;
  };
  // The mean over the micro-batches of an iteration, without the gathers of weights.
  TrainingConstants k;
  k.value.fill(1);
  const auto scatter = [&](int zero, std::int64_t micro_batches) {
    const TrainingJob j = job(zero, micro_batches);
    IterationParts parts = machine.parts(model, j);
    parts.kinds.at(0).gather = parts.kinds.at(0).gather_again = Seconds(0);
    return chunk_time({parts, k, j}, parts.kinds.at(0)).backward_sharded.value();
  };
  EXPECT_EQ(scatter(1, 4), 0);
  EXPECT_EQ(scatter(2, 1), 0);
  EXPECT_GT(scatter(3, 4), 0);
  EXPECT_NEAR(4 * scatter(2, 4), 3 * scatter(3, 4), 1e-9);
  const auto total = [&](int zero, std::int64_t micro_batches) {
    return machine.time(model, job(zero, micro_batches)).total;
  };
  EXPECT_EQ(total(2, 1), total(1, 1));
  // A pipeline adds up the gradients of its micro-batches first.
  TrainingJob staged = job(2, 4);
  staged.plan.pp = 2, staged.plan.dp = 8;
  EXPECT_EQ(machine.parts(model, staged).kinds.at(0).scatter.value(), 0);
  EXPECT_GT(total(2, 4), 1.01 * total(1, 4));
  // The exposed part is at least the last layer's scatter, and at most all of it.
  const IterationTime sharded = machine.time(model, job(2, 4));
  EXPECT_GT(sharded.sharding.value(), 4 * scatter(2, 4) / 8 * 0.99);
  EXPECT_LT(sharded.sharding.value(), 4 * scatter(2, 4) * 1.3);
}

// On a rack of GB200, flex sends a token once to each rank that has experts of it, as fast as an
// all-to-all: never longer than a copy for each expert (NVIDIA publishes 943 TFLOP/s for
// DeepSeek-V3 with HybridEP, 829 with DeepEP). On nodes of eight H100 the kernels of DeepEP run
// instead.
TEST(IterationParts, FlexOnARackIsNoSlowerThanAllToAll) {
  const Architecture model = load_model("deepseek-v3", Bundle());
  TrainingJob j = job_of(1, 1, 1, 1, 256);
  j.plan.dp = 256, j.plan.zero = 1, j.seq = 4096;
  const auto exchange = [&](const Machine& machine, int ep, ExpertDispatcher dispatcher) {
    j.plan.ep = ep, j.plan.dispatcher = dispatcher;
    return machine.parts(model, j).kinds.at(0).time[at(TrainingCost::kExpertExchange)]
                                                   [at(TrainingPass::kForward)];
  };
  const Machine racks(256, "gb200");
  for (const int ep : {8, 32, 64}) {
    const Seconds flex = exchange(racks, ep, ExpertDispatcher::kFlex);
    EXPECT_GT(flex, Seconds(0));
    EXPECT_LT(flex, exchange(racks, ep, ExpertDispatcher::kAllToAll)) << ep;
  }
  const Machine nodes(256, "h100-sxm");
  EXPECT_LT(exchange(nodes, 64, ExpertDispatcher::kFlex),
            exchange(nodes, 64, ExpertDispatcher::kAllToAll));
}

// A gradient that another kernel adds is read and written once more, in 16 bits.
TEST(IterationParts, GradientsAddedApartTravelTwice) {
  const Architecture model = gpt(4, 8192, 64);
  const Machine machine(1);
  const auto added = [&](std::int64_t global, bool fused) {
    const IterationParts p =
        machine.parts(model, job_of(1, 1, 1, 1, global), {.fused_accumulation = fused});
    return p.kinds[0].time[at(TrainingCost::kElementwise)][at(TrainingPass::kBackwardWeight)];
  };
  // 4 bytes of 12 h^2 weights a layer, at an A100's 2.04 TB/s or a little less.
  const double more = (added(4, false) - added(4, true)).value();
  const double least = 4 * 4 * 12 * 8192.0 * 8192 / 2.04e12;
  EXPECT_GT(more, least);
  EXPECT_LT(more, 1.4 * least);
  // One micro-batch has nothing to be added to.
  EXPECT_EQ(added(1, false), added(1, true));
}

// Without a scatter every tensor-parallel rank sends the whole stream, over the same NICs.
TEST(IterationParts, WholeSendsAreLonger) {
  const Architecture model = gpt(8, 8192, 64);
  const Machine machine(32);
  const TrainingJob j = job_of(8, 4, 1, 2, 8);
  const Seconds part = machine.parts(model, j).send;
  const Seconds whole = machine.parts(model, j, {.whole_sends = true}).send;
  EXPECT_GT(whole / part, 4);
  EXPECT_LT(whole / part, 8.1);
  TrainingJob sequence = j;
  sequence.plan.sequence_parallel = true;
  EXPECT_EQ(machine.parts(model, sequence, {.whole_sends = true}).send, part);
}

}  // namespace iteration_parts_test
}  // namespace orrery
