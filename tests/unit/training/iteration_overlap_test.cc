// Overlap of communication and host work with computation, and the work of routed experts.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/schedules/schedule.h"
#include "tests/unit/training/iteration_fixture.h"

namespace orrery {
namespace iteration_overlap_test {

using namespace iteration_fixture;

// Mixtral, 8 experts of which 2 a token, 4,096 tokens a rank: bytes of all 16-bit copies to the
// experts, of all tokens at every rank, and one copy a rank hit; as many back, and in the backward.
TEST(Iteration, DispatchersMoveTheirCopies) {
  const Architecture model = load_model("mixtral-8x7b", Bundle());
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.seq = 4096;
  j.plan.dp = j.plan.ep = 8;
  const auto sent = [&](TrainingPass pass) {
    Bytes sum;
    for (const TrainingOp& op : training_ops(model, j, 0)) {
      const auto* c = std::get_if<Collective>(&op.op);
      if (c && op.cost == TrainingCost::kExpertExchange && op.pass == pass)
        sum += op.count * c->bytes;
    }
    return sum.value() / 32;  // layers
  };
  const double stream = 4096.0 * 4096 * 2;
  // The busiest rank's tokens over the mean, of eight ranks' draws and of one's.
  const double load = expert_imbalance(std::int64_t{8} * 4096, 8, 2, 8, 0);
  const double load_of_one = expert_imbalance(4096, 8, 2, 8, 0);
  EXPECT_NEAR(sent(TrainingPass::kForward) / (load * 2 * 2 * stream), 1, 1e-12);
  EXPECT_NEAR(sent(TrainingPass::kBackwardInput) / (load * 2 * 2 * stream), 1, 1e-12);
  j.plan.dispatcher = ExpertDispatcher::kAllGather;
  EXPECT_DOUBLE_EQ(sent(TrainingPass::kForward), 2 * 8 * stream);
  j.plan.dispatcher = ExpertDispatcher::kFlex;
  // 1 - (7/8)^2 of the ranks.
  EXPECT_NEAR(sent(TrainingPass::kForward) / (load * 2 * 8 * (1 - 49.0 / 64) * stream), 1, 1e-12);
  // Tensor-parallel ranks that are the expert ranks too exchange their shares of the tokens.
  j = job_of(8, 1, 1, 1, 8);
  j.seq = 4096;
  j.plan.ep = 8, j.plan.etp = 1;
  EXPECT_NEAR(sent(TrainingPass::kForward) / (load_of_one * 2 * 2 * stream / 8), 1, 1e-12);
}

// Sixteen experts of a rank with few tokens each: one kernel fills the waves that a product an
// expert leaves empty, and is launched once. With thousands of tokens each there is nothing to
// fill.
TEST(Iteration, GroupedExpertsShareTheirWaves) {
  const Architecture model = load_model("qwen3-30b-a3b", Bundle());
  const Machine machine(8, "h100-sxm");
  const auto experts = [&](std::int64_t seq, bool grouped) {
    TrainingJob j = job_of(1, 1, 1, 1, 8);
    j.seq = seq;
    j.plan.dp = j.plan.ep = 8;
    Seconds sum;
    const IterationParts parts = machine.parts(model, j, {.grouped_experts = grouped});
    for (const Seconds s : parts.kinds.at(0).time[at(TrainingCost::kExperts)]) sum += s;
    return sum;
  };
  EXPECT_LT(experts(512, true) / experts(512, false), 0.8);
  EXPECT_NEAR(experts(32768, true) / experts(32768, false), 1, 0.1);
}

// The fused kernel includes the activation and the casts between its products: none of these is
// launched, and the products take the same time.
TEST(Iteration, FusedExpertsLeaveTheCastsBetweenThem) {
  const Architecture model = load_model("qwen3-30b-a3b", Bundle());
  const Machine machine(8, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.seq = 4096, j.precision.compute = Dtype::kFp8;
  j.plan.dp = j.plan.ep = 8;
  const auto of = [&](TrainingCost cost, const StackTraits& stack) {
    Seconds sum;
    const IterationParts parts = machine.parts(model, j, stack);
    for (const Seconds s : parts.kinds.at(0).time[at(cost)]) sum += s;
    return sum;
  };
  const StackTraits grouped = {.grouped_experts = true}, fused = {.fused_experts = true};
  EXPECT_EQ(of(TrainingCost::kExperts, grouped), of(TrainingCost::kExperts, fused));
  EXPECT_LT(of(TrainingCost::kCasts, fused), 0.85 * of(TrainingCost::kCasts, grouped));
  EXPECT_LT(of(TrainingCost::kElementwise, fused), of(TrainingCost::kElementwise, grouped));
}

// Eight ranks of one node without a pipeline: the part of the exchange that pairs overlap with is
// no longer part of the iteration, in closed form and event by event.
TEST(IterationOverlap, ExpertOverlapIsASchedule) {
  const Architecture model = load_model("mixtral-8x7b", Bundle());
  const Machine machine(8, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.seq = 4096;
  j.plan.dp = j.plan.ep = 8;
  const IterationParts parts = machine.parts(model, j);
  auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("h100-sxm"), j.precision);
  const IterationTime before = iteration_time(parts, k, j);
  j.plan.ep_overlap = true;
  const IterationTime after = iteration_time(parts, k, j);
  EXPECT_LT(after.total, before.total);
  EXPECT_GT(after.total, before.total - before.work[at(TrainingCost::kExpertExchange)]);
  EXPECT_NEAR(after.total / iteration_events(parts, k, j).total, 1, 1e-9);
  // If nothing overlaps with computation, the option gains nothing.
  k.value[static_cast<std::size_t>(TrainingConstant::kExpertOverlapped)] = 0;
  EXPECT_NEAR(iteration_time(parts, k, j).total / before.total, 1, 1e-9);
}

TEST(IterationOverlap, TensorOverlapIsASchedule) {
  const Architecture model = gpt(32, 4096, 32);
  const Machine machine(8);
  TrainingJob j = job_of(8, 1, 1, 1, 8);
  j.plan.sequence_parallel = true;
  const IterationParts parts = machine.parts(model, j);
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const Seconds before = iteration_time(parts, k, j).work[at(TrainingCost::kTensor)];
  j.plan.tp_overlap = true;
  const IterationTime after = iteration_time(parts, k, j);
  // The first of eight pieces is exposed, and products are slower during the others.
  EXPECT_GT(after.work[at(TrainingCost::kTensor)], before / 8);
  EXPECT_LT(after.work[at(TrainingCost::kTensor)], before / 2);
  EXPECT_NEAR(after.total / iteration_events(parts, k, j).total, 1, 1e-9);
  // A ring's pieces are one a rank; of four, the first is twice as long.
  const auto of_pieces = [&](int pieces) {
    j.plan.tp_overlap_pieces = pieces;
    const IterationTime t = iteration_time(parts, k, j);
    EXPECT_NEAR(t.total / iteration_events(parts, k, j).total, 1, 1e-9);
    return t.work[at(TrainingCost::kTensor)];
  };
  EXPECT_EQ(of_pieces(8), of_pieces(0));
  EXPECT_GT(of_pieces(4), of_pieces(8));
  EXPECT_LT(of_pieces(4), 2 * of_pieces(8));
}

// Megatron reduces gradients of column-parallel products during the products of their weights'
// gradients. Of the communication of the backward pass only their slowdown remains; that of the
// forward pass is exposed.
TEST(IterationOverlap, GradientsAreReducedBesideOthers) {
  const Architecture model = gpt(40, 12288, 96);
  const Machine machine(8);
  TrainingJob j = job_of(8, 1, 1, 1, 8);
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const auto tensor = [&](bool async) {
    const IterationParts parts =
        machine.parts(model, j, {.fused_accumulation = true, .async_gradients = async});
    const IterationTime t = iteration_time(parts, k, j);
    EXPECT_NEAR(t.total / iteration_events(parts, k, j).total, 1, 1e-9);
    return t.work[at(TrainingCost::kTensor)];
  };
  // As many all-reduces forward as backward; 15 % of a hidden one's time comes back.
  EXPECT_NEAR(tensor(true) / tensor(false), 0.5 * (1 + 0.15 / 1.15), 0.03);
  // Gathers of gradients are exposed, those of inputs and reductions are not: three of five are.
  j.plan.sequence_parallel = true;
  EXPECT_NEAR(tensor(true) / tensor(false), 0.6 + 0.4 * 0.15 / 1.15, 0.03);
  // Adapters have no gradient of the frozen weights to hide anything.
  j.plan.sequence_parallel = false, j.tuning = Tuning::kLora;
  EXPECT_GT(tensor(true) / tensor(false), 0.85);
}

// A pass takes 10 s and has an exchange of 4 s. Weights that travel for 8 s overlap with the whole
// pass, which leaves 2 s for the exchange of a pair of micro-batches to overlap with, and none in a
// pass that waits for weights.
TEST(IterationOverlap, WeightsAndExchangeDoNotHideBehindTheSameWork) {
  TrainingConstants k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("h100-sxm"), {});
  k.value[static_cast<std::size_t>(TrainingConstant::kExpertOverlapped)] = 1;
  const IterationParts parts;
  const TrainingJob job;
  ChunkTime t;
  t.forward = Seconds(10), t.forward_exchange = Seconds(4);
  EXPECT_EQ(scheduled({parts, k, job}, t).forward_exchange, Seconds(4));
  t.forward_sharded = Seconds(8);
  EXPECT_EQ(scheduled({parts, k, job}, t).forward_exchange, Seconds(2));
  t.forward = Seconds(12), t.forward_exposed = Seconds(2), t.forward_sharded = Seconds(11.5);
  EXPECT_EQ(scheduled({parts, k, job}, t).forward_exchange, Seconds(0));
}

// Without overlap every gather and reduction of sharded weights is exposed. Without prefetching
// only (PyTorch's BackwardPrefetch none), those of backward passes are, except for the last layer,
// whose weights are there already.
TEST(IterationOverlap, ShardedWeightsThatHideNothing) {
  const Architecture model = gpt(32, 4096, 32);
  const Machine machine(8);
  TrainingJob j = job_of(1, 1, 1, 1, 16);
  j.plan.dp = 8, j.plan.zero = 3;
  const auto k =
      training_constants(prior_constants(), "fsdp", Catalog().gpu("a100-80g-sxm"), j.precision);
  const auto exposed = [&](bool overlap, bool reshard) {
    j.plan.dp_overlap = overlap, j.plan.reshard = reshard;
    const IterationParts parts = machine.parts(model, j);
    const ChunkParts& c = parts.kinds.at(0);
    const Seconds sent = c.gather + c.gather_again + c.scatter;
    return iteration_time(parts, k, j).sharding / (k[TrainingConstant::kSharded] * sent);
  };
  EXPECT_NEAR(exposed(false, true), static_cast<double>(j.micro_batches()), 1e-9);
  EXPECT_NEAR(exposed(false, false), static_cast<double>(j.micro_batches()), 1e-9);
  const double ahead = exposed(true, true);
  j.plan.prefetch = Prefetch::kNone;
  const double late = exposed(true, true);
  EXPECT_LT(ahead, late);
  EXPECT_LT(late, exposed(false, true));
  EXPECT_GT(late, 0.6 * exposed(false, true));  // two of three collectives a layer
}

// Four ranks of one node share sequences of 32 k tokens. Transfers of a ring overlap with
// attention, gathers do not. A rank with consecutive tokens has more causal work than the mean.
TEST(IterationOverlap, ContextParallelIsASchedule) {
  const Architecture model = gpt(32, 4096, 32);
  const Machine machine(4, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 4);
  j.plan.cp = 4, j.seq = 32768;
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("h100-sxm"), j.precision);
  const auto time = [&] {
    const IterationParts parts = machine.parts(model, j);
    const IterationTime t = iteration_time(parts, k, j);
    EXPECT_NEAR(t.total / iteration_events(parts, k, j).total, 1, 1e-9);
    return t;
  };
  const auto sent = [&] {
    Seconds all;
    for (const Seconds s : machine.parts(model, j).kinds[0].time[at(TrainingCost::kContext)])
      all += 4.0 * s;  // micro-batches
    return all;
  };
  const IterationTime ring = time();
  // The gradients that return, a sixth of the transfers of a ring in the backward pass, and the
  // slowdown of attention remain.
  EXPECT_GT(ring.work[at(TrainingCost::kContext)], 2.0 / 3 / 6 * sent());
  EXPECT_LT(ring.work[at(TrainingCost::kContext)], 0.5 * sent());
  j.recompute = Recompute::kSelective;
  EXPECT_GT(time().work[at(TrainingCost::kContext)], ring.work[at(TrainingCost::kContext)]);
  j.recompute = Recompute::kNone;
  j.plan.zigzag = false;
  const IterationTime consecutive = time();
  // The last of four parts: 7 / 4 of the mean's pairs.
  EXPECT_NEAR(consecutive.work[at(TrainingCost::kAttentionBackward)] /
                  ring.work[at(TrainingCost::kAttentionBackward)],
              1.75, 0.1);
  j.plan.zigzag = true, j.plan.context = ContextMethod::kAllGather;
  EXPECT_NEAR(time().work[at(TrainingCost::kContext)] / sent(), 1, 1e-9);
  j.plan.context = ContextMethod::kUlysses;
  EXPECT_NEAR(time().work[at(TrainingCost::kContext)] / sent(), 1, 1e-9);
}

// Exposed communication makes the iteration longer by its share. Communication that overlaps
// reduces the error from the network.
TEST(IterationOverlap, TheNetworksErrorCountsAsFarAsItIsExposed) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(64);
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 64, j.plan.zero = 0, j.plan.dp_overlap = false;
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const IterationParts parts = machine.parts(model, j);
  const double sigma = std::hypot(parts.wires_shared, parts.wires_own);
  EXPECT_GT(sigma, 0.01);
  const IterationTime blocked = iteration_time(parts, k, j);
  const double error = network_error(parts, blocked, k, j);
  EXPECT_NEAR(error, blocked.reduce / blocked.total * std::expm1(sigma), 1e-9);
  EXPECT_GE(iteration_estimate(parts, blocked, k, j).sigma(), std::hypot(error, k.error));
  j.plan.dp_overlap = true;
  EXPECT_LT(network_error(parts, iteration_time(parts, k, j), k, j), error);
  const Machine one(1);
  const TrainingJob alone = job_of(1, 1, 1, 1, 1);
  const IterationParts of_one = one.parts(model, alone);
  EXPECT_EQ(network_error(of_one, iteration_time(of_one, k, alone), k, alone), 0);
}

// An optimizer on the host: gradients are copied during the backward pass, and weights return
// during its step except for one tile, in closed form and event by event.
TEST(IterationOverlap, AnOptimizerOnTheHostIsASchedule) {
  const Architecture model = gpt(24, 4096, 32);
  const Machine machine(8, "h100-sxm");
  TrainingJob j = job_of(1, 1, 1, 1, 8);
  j.plan.dp = 8, j.plan.zero = 2, j.seq = 8192, j.offload_optimizer = true;
  const auto k =
      training_constants(prior_constants(), "deepspeed", Catalog().gpu("h100-sxm"), j.precision);
  const IterationParts parts = machine.parts(model, j);
  const StageParts& s = parts.stages[0];
  EXPECT_GT(s.host_pieces, 1);
  const IterationTime beside = iteration_time(parts, k, j);
  EXPECT_NEAR(beside.total / iteration_events(parts, k, j).total, 1, 1e-9);
  j.plan.dp_overlap = false;
  const IterationTime after = iteration_time(parts, k, j);
  EXPECT_NEAR(after.total / iteration_events(parts, k, j).total, 1, 1e-9);
  // The gradients of all but the last of 24 layers are copied during the backward pass.
  EXPECT_NEAR((after.optimizer - beside.optimizer) / s.to_host, 23.0 / 24, 1e-9);
  // The longer of step and way back, and a tile of the other.
  const Seconds longer = std::max(s.host_step, s.from_host);
  const Seconds tile = std::min(s.host_step, s.from_host) / s.host_pieces;
  EXPECT_NEAR(host_step(s, Fidelity::kClosedForm) / (longer + tile), 1, 1e-9);
  // The host's memory is much slower than the GPU's.
  j.offload_optimizer = false;
  EXPECT_GT(after.optimizer, 5 * iteration_time(machine.parts(model, j), k, j).optimizer);
}

// Broadcasts of weights, owner by owner, delay the next iteration.
TEST(IterationOverlap, NothingHidesBroadcasts) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(16);
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 16, j.plan.zero = 1;
  const IterationParts parts = machine.parts(model, j, {.broadcasts = true});
  const Seconds broadcast = parts.stages.at(0).late_gather;
  EXPECT_GT(broadcast, Seconds(0));
  EXPECT_EQ(parts.stages.at(0).gather, Seconds(0));
  const auto k = training_constants(prior_constants(), "internevo", Catalog().gpu("a100-80g-sxm"),
                                    j.precision);
  EXPECT_NEAR(iteration_time(parts, k, j).gather.value(), broadcast.value(), 1e-12);
  IterationParts without = parts;
  without.stages.at(0).late_gather = Seconds(0);
  const Seconds events = iteration_events(parts, k, j, false).total;
  EXPECT_NEAR((events - iteration_events(without, k, j, false).total).value(), broadcast.value(),
              1e-9);
}

// All gradients are reduced at once after the passes, and all weights gathered at once after the
// optimizer; the host copies every tensor out of the part of every rank.
TEST(IterationOverlap, NothingHidesWholeShards) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(16);
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 16, j.plan.zero = 1;
  const IterationParts parts = machine.parts(model, j, {.whole_shards = true});
  const StageParts& stage = parts.stages.at(0);
  EXPECT_EQ(stage.reduce, Seconds(0));
  EXPECT_EQ(stage.gather, Seconds(0));
  // An all-reduce moves twice the bytes of the reduce-scatter of other stacks.
  const Seconds scatter = machine.parts(model, j).stages.at(0).reduce;
  EXPECT_GT(stage.late_reduce / scatter, 1.5);
  EXPECT_LT(stage.late_reduce / scatter, 2.5);
  const auto k =
      training_constants(prior_constants(), "nanotron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const Seconds views = k.launch_time(16 * 6 * 8);  // ranks, tensors of a layer, layers
  EXPECT_NEAR(late_gather_time(stage, k) / (views + std::max(views, stage.late_gather)), 1, 1e-12);
  const IterationTime time = iteration_time(parts, k, j);
  EXPECT_NEAR(time.reduce / stage.late_reduce, 1, 1e-12);
  EXPECT_NEAR(time.gather / late_gather_time(stage, k), 1, 1e-12);
  EXPECT_NEAR(time.total / iteration_events(parts, k, j, false).total, 1, 1e-9);
  // Without ZeRO the reduction overlaps with the last backward pass.
  j.plan.zero = 0;
  const StageParts whole = machine.parts(model, j, {.whole_shards = true}).stages.at(0);
  EXPECT_GT(whole.reduce, Seconds(0));
  EXPECT_EQ(whole.late_reduce, Seconds(0));
  EXPECT_EQ(late_gather_time(whole, k), Seconds(0));
}

}  // namespace iteration_overlap_test
}  // namespace orrery
