// Iterations under the priors against published runs, and what each part must do.
#include "orrery/training/iteration/iteration.h"
#include "orrery/network/collectives/make_network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/model/catalog.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/iteration/chunk_time.h"
#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

Architecture gpt(int layers, int hidden, int heads) {
  Architecture a;
  a.id = "gpt";
  a.hidden = hidden;
  a.vocab = 51200;
  a.tied_embeddings = true;
  a.position = Position::kLearned;
  a.position_rows = 2048;
  a.norm = Norm::kLayer;
  SoftmaxAttention s;
  s.heads = s.kv_heads = heads;
  s.head_dim = s.value_dim = hidden / heads;
  s.rope = false;
  DenseMlp m;
  m.intermediate = 4 * hidden;
  m.activation = Activation::kGelu;
  LayerSpec layer;
  layer.mixer = s;
  layer.mlp = m;
  a.layers.append(layer, layers);
  return a;
}

class Machine {
 public:
  explicit Machine(int gpus, const char* name = "a100-80g-sxm")
      : catalog_(bundle_),
        gpu_(catalog_.gpu(name)),
        cluster_(catalog_, gpu_, gpus),
        kernels_(make_kernel_model(gpu_, {}, bundle_)),
        network_(make_network_model(cluster_, {}, "nccl", bundle_)) {}

  IterationParts parts(const Architecture& model, const TrainingJob& job,
                       const StackTraits& stack = {.fused_accumulation = true}) const {
    check_job(model, job);
    return IterationModel(model, cluster_, *kernels_, *network_).parts(job, stack);
  }
  Seconds all_reduce(const TrainingPlan& plan, double bytes) const {
    const Collective c{Collective::Kind::kAllReduce, Collective::Group::kData, plan.dp,
                       Bytes(bytes)};
    return network_->predict(c, placement(plan)).time.value;
  }
  IterationTime time(const Architecture& model, const TrainingJob& job,
                     const char* stack = "megatron") const {
    // The priors: nothing that was fitted to a run.
    const ConstantTable priors = read_constant_table(bundle_.replacing("training", {}));
    const auto k = training_constants(priors, stack, gpu_, job.precision);
    return iteration_time(parts(model, job), k, job);
  }

 private:
  Bundle bundle_;
  Catalog catalog_;
  Gpu gpu_;
  Cluster cluster_;
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;
};

TrainingJob job_of(int tp, int pp, int vp, std::int64_t micro, std::int64_t global) {
  TrainingJob j;
  j.plan.tp = tp, j.plan.pp = pp, j.plan.vp = vp;
  j.micro_batch = micro, j.global_batch = global;
  return j;
}

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

// The same kernel with the activation and the casts between its products inside: none of these is
// launched, and the products are as long.
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

// Eight ranks of one node, no pipeline: what pairs hide of the exchange is gone from the iteration,
// in closed form as event by event.
TEST(Iteration, ExpertOverlapIsASchedule) {
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
  // Nothing of it runs beside computation: nothing is gained.
  k.value[static_cast<std::size_t>(TrainingConstant::kExpertOverlapped)] = 0;
  EXPECT_NEAR(iteration_time(parts, k, j).total / before.total, 1, 1e-9);
}

TEST(Iteration, TensorOverlapIsASchedule) {
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
  // The first of eight pieces is left, and what products lose beside the others.
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

// Megatron reduces gradients of column-parallel products beside those of their weights: of the
// backward pass's communication what these lose to it is left, of the forward pass's all.
TEST(Iteration, GradientsAreReducedBesideOthers) {
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

// Of a pass of 10 s with an exchange of 4 s: weights that travel for 8 s hide behind all of it, so
// that pairs of micro-batches have 2 s of it to hide, and none of a pass that waits for weights.
TEST(Iteration, WeightsAndExchangeDoNotHideBehindTheSameWork) {
  TrainingConstants k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("h100-sxm"), {});
  k.value[static_cast<std::size_t>(TrainingConstant::kExpertOverlapped)] = 1;
  ChunkTime t;
  t.forward = Seconds(10), t.forward_exchange = Seconds(4);
  EXPECT_EQ(scheduled({}, k, t).forward_exchange, Seconds(4));
  t.forward_sharded = Seconds(8);
  EXPECT_EQ(scheduled({}, k, t).forward_exchange, Seconds(2));
  t.forward = Seconds(12), t.forward_exposed = Seconds(2), t.forward_sharded = Seconds(11.5);
  EXPECT_EQ(scheduled({}, k, t).forward_exchange, Seconds(0));
}

// Without overlap every gather and reduction of sharded weights stands in the way; without
// prefetching alone (PyTorch's BackwardPrefetch none) those of backward passes do, but for the last
// layer's, whose weights are there.
TEST(Iteration, ShardedWeightsThatHideNothing) {
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

// Four ranks of one node share sequences of 32 k tokens: hops hide beside attention, gathers do
// not; a rank with consecutive tokens has more of the causal work than the mean.
TEST(Iteration, ContextParallelIsASchedule) {
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
  // Gradients that go home, a sixth of a ring's hops backward, and what attention loses.
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

// Communication that blocks makes the iteration longer by its share; what computation hides makes
// less of the network's error.
TEST(Iteration, TheNetworksErrorCountsAsFarAsItIsExposed) {
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

TEST(Iteration, EqualStagesIdleAsTheClosedFormSays) {
  const Architecture model = gpt(32, 4096, 32);
  const Machine machine(8);
  TrainingJob j = job_of(1, 8, 1, 1, 16);
  j.plan.schedule = "1f1b";
  const IterationParts parts = machine.parts(model, j);
  // Stages but first and last are alike.
  EXPECT_EQ(parts.kinds.size(), 3u);
  IterationParts equal = parts;
  for (int& kind : equal.kind) kind = 1;
  const auto k =
      training_constants(prior_constants(), "megatron", Catalog().gpu("a100-80g-sxm"), j.precision);
  const Seconds stage = chunk_time(equal, equal.kinds[1], k, j).total();
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

// Experts are copied as often as all else where a node of eight shares what 16 ranks hold.
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

// Four documents in a sequence have a quarter of its pairs; offloading what is saved waits for
// PCIe.
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

// An optimizer on the host: gradients leave beside the backward pass, weights come back beside its
// step but for a tile; in closed form as event by event.
TEST(Iteration, AnOptimizerOnTheHostIsASchedule) {
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
  // All but the last of 24 layers' gradients leave beside the backward pass.
  EXPECT_NEAR((after.optimizer - beside.optimizer) / s.to_host, 23.0 / 24, 1e-9);
  // The longer of step and way back, and a tile of the other.
  const Seconds longer = std::max(s.host_step, s.from_host);
  const Seconds tile = std::min(s.host_step, s.from_host) / s.host_pieces;
  EXPECT_NEAR(host_step(s) / (longer + tile), 1, 1e-9);
  // The host's memory is much slower than the GPU's.
  j.offload_optimizer = false;
  EXPECT_GT(after.optimizer, 5 * iteration_time(machine.parts(model, j), k, j).optimizer);
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

// Broadcasts of weights, owner by owner, stand in front of the next iteration.
TEST(Iteration, NothingHidesBroadcasts) {
  const Architecture model = gpt(8, 4096, 32);
  const Machine machine(16);
  TrainingJob j = job_of(1, 1, 1, 1, 64);
  j.plan.dp = 16, j.plan.zero = 1;
  const IterationParts parts = machine.parts(model, j, {.broadcasts = true});
  const Seconds broadcast = parts.stages.at(0).broadcast;
  EXPECT_GT(broadcast, Seconds(0));
  EXPECT_EQ(parts.stages.at(0).gather, Seconds(0));
  const auto k = training_constants(prior_constants(), "internevo", Catalog().gpu("a100-80g-sxm"),
                                    j.precision);
  EXPECT_NEAR(iteration_time(parts, k, j).gather.value(), broadcast.value(), 1e-12);
  IterationParts without = parts;
  without.stages.at(0).broadcast = Seconds(0);
  const Seconds events = iteration_events(parts, k, j, false).total;
  EXPECT_NEAR((events - iteration_events(without, k, j, false).total).value(), broadcast.value(),
              1e-9);
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

}  // namespace
}  // namespace orrery
