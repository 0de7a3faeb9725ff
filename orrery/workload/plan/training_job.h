// A training job: how a model is split over devices, in which number formats, with which optimizer,
// recomputation and batch; and whether the model allows it.
//
// Ranks run tp fastest, then cp, then dp, then pp, or pp before dp (RankOrder). Routed experts
// are spread over the tp*cp*dp ranks of a stage: ep groups of etp ranks each, the rest copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/dtype.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/ops/format.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// How context-parallel ranks, which share a sequence, come to the keys and values of the others
// (training/context_overlap.h).
enum class ContextMethod {
  kRing,       // keys and values go round, each hop beside a block of attention
  kAllGather,  // keys and values are gathered before, their gradients reduced and scattered after
  kUlysses,    // all-to-all from tokens to heads and back
  kUsp,        // Ulysses within groups of `ulysses` ranks, a ring between the groups (Fang and Zhao
               // 2024; TransformerEngine's "a2a+p2p")
};

// What carries tokens to their experts and back (Megatron's --moe-token-dispatcher-type).
enum class ExpertDispatcher {
  kAllToAll,   // every one of a token's top_k copies for itself, to its expert's rank
  kAllGather,  // all tokens to all ranks of the expert group, results summed on the way back
  kFlex,       // DeepEP, HybridEP: one copy for each node with an expert of the token, handed on
               // there to each rank that has one
};

// When a backward pass gathers the next layer's sharded weights (PyTorch's BackwardPrefetch):
// before the layer's computation, so beside it; after it, ahead of the reduction of its gradients;
// or behind that. training/data_overlap.h has the times, memory/training_memory.h what is held.
enum class Prefetch { kPre, kPost, kNone };

// How ranks are numbered, the fastest first; consecutive ones share nodes. Megatron's default, and
// its --use-tp-pp-dp-mapping.
enum class RankOrder { kDataBeforePipeline, kPipelineBeforeData };

struct TrainingPlan {
  int tp = 1;   // tensor parallel
  int pp = 1;   // pipeline stages
  int vp = 1;   // model chunks a stage holds (virtual stages)
  int dp = 1;   // data parallel: ranks that see different sequences, FSDP's included
  int cp = 1;   // context parallel: ranks that share a sequence
  int ep = 1;   // expert parallel
  int etp = 0;  // tensor parallel of an expert; 0: tp
  // Norms, dropout and residual adds work on 1/tp of the tokens; all-reduces become
  // reduce-scatters and all-gathers.
  bool sequence_parallel = false;
  // Collectives of tensor-parallel layers are cut into tp pieces, each beside a piece of the
  // product that makes or reads it (user buffers, async TP): training/stream_overlap.h.
  bool tp_overlap = false;
  int tp_overlap_pieces = 0;  // 0: tp
  std::string
      schedule;  // of the pipeline (training/schedule.h); empty: 1f1b, interleaved if vp > 1
  // Layers of each virtual stage in model order, pp*vp of them; empty: equal.
  std::vector<std::int64_t> split;
  int zero = 0;  // 0 copies; 1 optimizer states sharded over dp*cp; 2 gradients too; 3 weights too
  // Ranks that share one copy of what is sharded (HSDP where fewer than dp*cp); 0: dp*cp.
  int shard = 0;
  bool reshard = true;  // zero 3: weights are dropped after the forward and gathered again
  // Ranks that keep the weights between them after the forward, neighbours, from which the backward
  // gathers them; 0: those of `shard` (FSDP2's reshard_after_forward, ZeRO++'s secondary shard).
  int reshard_ranks = 0;
  Prefetch prefetch = Prefetch::kPre;  // when, beside a backward pass
  ContextMethod context = ContextMethod::kRing;
  int ulysses = 1;  // kUsp: ranks that share heads, consecutive ones; divides cp
  // Ring and all-gather: each context-parallel rank takes two parts of the sequence that mirror
  // each other, so that all have as many causal pairs. Without it parts are consecutive, and the
  // last rank has up to twice the mean. (Ulysses shares heads: always balanced.)
  bool zigzag = true;
  // Gradients are reduced, and weights gathered, beside computation.
  bool dp_overlap = true;
  RankOrder order = RankOrder::kDataBeforePipeline;
  // Tokens travel to and from experts beside the computation of another micro-batch: a forward and
  // a backward run as a pair (Megatron's --overlap-moe-expert-parallel-comm).
  bool ep_overlap = false;
  ExpertDispatcher dispatcher = ExpertDispatcher::kAllToAll;
  // Nodes on which a token's experts lie at most (node-limited routing; DeepSeek-V3: 4); 0: what
  // the model's router says of its groups of experts. Only kFlex sends less for it: of single
  // copies as many leave a node wherever their experts are.
  int route_nodes = 0;

  int expert_tp() const { return etp > 0 ? etp : tp; }
  std::int64_t devices() const { return std::int64_t{tp} * cp * dp * pp; }
  int data_ranks() const { return dp * cp; }  // that hold the same weights
  // cp = head_ranks * ring_ranks: those that share heads, and those that share the sequence.
  int head_ranks() const {
    return context == ContextMethod::kUlysses ? cp : context == ContextMethod::kUsp ? ulysses : 1;
  }
  int ring_ranks() const { return cp / head_ranks(); }
  bool mirrored() const { return zigzag && ring_ranks() > 1; }
  int expert_data_ranks() const { return tp * cp * dp / (ep * expert_tp()); }  // the same experts
  int sharding() const { return shard > 0 ? shard : data_ranks(); }
  int resharding() const { return !reshard ? 1 : reshard_ranks > 0 ? reshard_ranks : sharding(); }
  // Of so many data-parallel ranks those that hold the same experts.
  int expert_peers(int of_data_ranks) const {
    const std::int64_t peers = std::int64_t{expert_data_ranks()} * of_data_ranks / data_ranks();
    return static_cast<int>(std::max<std::int64_t>(1, peers));
  }
  bool operator==(const TrainingPlan&) const = default;
};

// How fp8 operands are scaled.
enum class Fp8Recipe { kTensor, kBlock, kMx };

struct TrainingPrecision {
  // Of the large products: fp32, tf32, fp16, bf16, fp8, fp4 (nvfp4). LM head, router, embedding
  // and attention stay in `activations`.
  Dtype compute = Dtype::kBf16;
  Fp8Recipe recipe = Fp8Recipe::kTensor;
  // Residual stream, and the weights that products read: fp32, fp16, bf16.
  Dtype activations = Dtype::kBf16;
  Dtype gradients = Dtype::kFp32;  // as accumulated and reduced: fp32, fp16, bf16
  bool master_weights = true;      // an fp32 copy that the optimizer updates
  Dtype moments = Dtype::kFp32;    // of the optimizer: fp32, bf16, fp16, fp8, int8
  bool fp8_parameters = false;     // weights are kept, and gathered, in fp8
  bool operator==(const TrainingPrecision&) const = default;
};

enum class Recompute {
  kNone,
  kSelective,  // the core of attention (Korthikanti et al. 2022)
  kFull,       // whole layers, from their inputs
};

enum class Optimizer { kAdam, kSgd, kAdafactor, kMuon };

// What is trained of the model.
enum class Tuning {
  kFull,
  kLora,   // low-rank adapters beside frozen weights
  kQlora,  // the same over a 4-bit base that is widened for every product
  kDora,   // LoRA and a trained magnitude of every column
};

struct TrainingJob {
  TrainingPlan plan;
  TrainingPrecision precision;
  Recompute recompute = Recompute::kNone;
  // kFull: of how many layers of each virtual stage; 0: all.
  int recompute_layers = 0;
  Optimizer optimizer = Optimizer::kAdam;
  Tuning tuning = Tuning::kFull;
  int lora_rank = 16;
  // Any of q, k, v, o, gate, up, down.
  std::vector<std::string> lora_targets = {"q", "k", "v", "o"};

  std::int64_t seq = 2048;  // tokens of a sequence (packed ones count as one)
  // Mean length of the documents that are packed into a sequence, each attending to itself alone;
  // 0: a sequence is one document.
  std::int64_t document = 0;
  std::int64_t attended() const { return document > 0 && document < seq ? document : seq; }
  std::int64_t micro_batch = 1;   // sequences of a dp rank at once
  std::int64_t global_batch = 1;  // sequences of a step of the optimizer

  bool flash = true;                 // attention without its scores in memory
  bool fused_cross_entropy = false;  // loss without a copy of the logits in fp32
  bool dropout = false;              // masks are written and kept
  double expert_skew = 0;            // exponent of the power law of expert loads
  // Tokens an expert takes at most, over the mean; more are dropped. 0: all are taken.
  double capacity_factor = 0;
  bool offload_optimizer = false;    // states and step on the host
  bool offload_activations = false;  // saved tensors go to host memory and come back

  std::int64_t micro_batches() const { return global_batch / (micro_batch * plan.dp); }
  bool operator==(const TrainingJob&) const = default;
};

// Where a rank of 0 .. devices()-1 stands in each of its groups. `ep` is the group of experts.
struct RankPosition {
  int tp = 0, cp = 0, dp = 0, pp = 0, ep = 0;
  bool operator==(const RankPosition&) const = default;
};
// InputError: the job has no such rank.
RankPosition position_of(const TrainingPlan& plan, std::int64_t rank);

// Of the pipeline: plan.schedule; where it is empty, 1f1b, or interleaved with several chunks a
// stage. One stage has no pipeline: 1f1b. With ep_overlap these three are "combined".
inline std::string_view schedule_name(const TrainingPlan& plan) {
  const bool plain =
      plan.schedule.empty() || plan.schedule == "1f1b" || plan.schedule == "interleaved";
  const bool pairs = plan.ep_overlap && plan.ep > 1 && (plan.pp == 1 || plain);
  if (pairs || plan.schedule == "combined") return "combined";
  if (plan.pp == 1) return "1f1b";
  if (!plan.schedule.empty()) return plan.schedule;
  return plan.vp > 1 ? "interleaved" : "1f1b";
}

// Tokens of a micro-batch that one rank works on.
inline std::int64_t rank_tokens(const TrainingJob& job) {
  return job.micro_batch * job.seq / job.plan.cp;
}

// The plan under which one stage's forward Program is made (program.h): tensor and expert
// parallelism; data-parallel ranks only as far as they share experts.
ParallelPlan stage_plan(const TrainingPlan& plan);

// The number formats of that Program.
Precision stage_precision(const TrainingPrecision& precision);

// Layers of a virtual stage. REQUIRES that check_job accepts, 0 <= chunk < pp*vp.
StageLayers chunk_layers(const Architecture& model, const TrainingPlan& plan, int chunk);

// Layers of each of `chunks` virtual stages where they do not divide: the embedding and the LM head
// count as a layer each (Megatron's account_for_embedding and account_for_loss), what is left over
// goes to the stages in the middle.
std::vector<std::int64_t> uneven_split(int layers, int chunks);

// Checks a job against a model; the message says which rule fails, with the numbers.
//
// InputError: sizes below 1, zero tokens, formats outside of the lists above, unknown LoRA targets,
// a rank of 0. Infeasible unless
// - the rules of check_plan hold for tp, etp and ep;
// - ep*etp divides tp*cp*dp; with ep_overlap the schedule runs pairs, or can (schedule_name);
// - layers divide by pp*vp, or `split` has that many entries that add up to the layers;
// - micro_batch*dp divides global_batch;
// - cp divides the sequence (2*cp with zigzag), every mixer is softmax or latent attention, and,
//   the ranks that share heads (cp of Ulysses, `ulysses` of usp) divide the key-value heads of a
//   tensor-parallel rank; `ulysses` divides cp and is given to usp alone;
// - shard divides dp*cp, and reshard_ranks the ranks of `shard`.
void check_job(const Architecture& model, const TrainingJob& job);

std::string_view to_text(Recompute recompute);
std::string_view to_text(Optimizer optimizer);
std::string_view to_text(Tuning tuning);
std::string_view to_text(ContextMethod method);
std::string_view to_text(Fp8Recipe recipe);

}  // namespace orrery
