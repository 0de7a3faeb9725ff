// A training job: how a model is split over devices, in which number formats, with which optimizer,
// recomputation and batch, and whether the model allows it.
//
// Ranks are numbered with tp fastest, then cp, then dp, then pp, or pp before dp (RankOrder).
// Routed experts are spread over the tp*cp*dp ranks of a stage: ep groups of etp ranks each hold
// all experts once, the other ranks hold copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/dtype.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/ops/format.h"
#include "orrery/workload/plan/pipeline_split.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/recompute_module.h"

namespace orrery {

// How context-parallel ranks, which share a sequence, get the keys and values of the other ranks
// (training/overlap/context_overlap.h).
enum class ContextMethod {
  kRing,       // keys and values go round a ring, each hop overlapped with a block of attention
  kAllGather,  // keys and values are gathered before, their gradients are reduce-scattered after
  kUlysses,    // all-to-all from tokens to heads and back
  kUsp,        // Ulysses within groups of `ulysses` ranks, a ring between the groups (Fang and Zhao
               // 2024; TransformerEngine's "a2a+p2p")
};

// How tokens travel to their experts and back (Megatron's --moe-token-dispatcher-type).
enum class ExpertDispatcher {
  kAllToAll,   // each of the top_k copies of a token is sent to the rank of its expert
  kAllGather,  // all tokens go to all ranks of the expert group, results are summed on the way back
  kFlex,       // DeepEP, HybridEP: one copy per node that has an expert of the token, forwarded
               // there to each rank that has one
};

// When a backward pass gathers the sharded weights of the next layer (PyTorch's BackwardPrefetch).
// training/overlap/data_overlap.h models the times, memory/training_memory.h the memory held.
enum class Prefetch {
  kPre,   // before the layer's computation, and overlapped with it
  kPost,  // after the layer's computation, before the reduction of its gradients
  kNone,  // after the reduction
};

// How ranks are numbered, data-parallel or pipeline-parallel neighbours first; consecutive ranks
// share nodes. The first is Megatron's default, the second its --use-tp-pp-dp-mapping.
enum class RankOrder { kDataBeforePipeline, kPipelineBeforeData };

struct TrainingPlan {
  int tp = 1;   // tensor parallel size
  int pp = 1;   // pipeline stages
  int vp = 1;   // model chunks per stage (virtual stages)
  int dp = 1;   // data parallel size: ranks that see different sequences, FSDP's included
  int cp = 1;   // context parallel size: ranks that share a sequence
  int ep = 1;   // expert parallel size
  int etp = 0;  // tensor parallel size of an expert; 0: tp
  // Norms, dropout and residual adds work on 1/tp of the tokens; all-reduces become
  // reduce-scatters and all-gathers.
  bool sequence_parallel = false;
  // Collectives of tensor-parallel layers are cut into tp pieces, each overlapped with a piece of
  // the product that makes or reads it (user buffers, async TP): training/overlap/stream_overlap.h.
  bool tp_overlap = false;
  int tp_overlap_pieces = 0;  // number of pieces; 0: tp
  // Pipeline schedule (training/schedules/schedule.h); empty: 1f1b, interleaved if vp > 1.
  std::string schedule;
  // Layers of each of the pp*vp virtual stages in model order; empty: by `rule`.
  std::vector<std::int64_t> split;
  SplitRule rule;  // not given: equal numbers
  // ZeRO stage. 0: copies; 1: optimizer states sharded over dp*cp; 2: gradients too; 3: weights
  // too.
  int zero = 0;
  // Ranks that share one copy of the sharded state; fewer than dp*cp is HSDP. 0: dp*cp.
  int shard = 0;
  bool reshard = true;  // ZeRO 3: weights are dropped after the forward pass and gathered again
  // Neighbouring ranks that keep the weights between them after the forward pass, from which the
  // backward pass gathers them (FSDP2's reshard_after_forward, ZeRO++'s secondary shard); 0:
  // `shard`.
  int reshard_ranks = 0;
  Prefetch prefetch = Prefetch::kPre;
  ContextMethod context = ContextMethod::kRing;
  int ulysses = 1;  // kUsp: consecutive ranks that share heads; divides cp
  // Ring and all-gather: each context-parallel rank takes two mirrored parts of the sequence, so
  // that all ranks have the same number of causal pairs. If false, parts are consecutive and the
  // last rank has up to twice the mean. Ulysses shares heads and is always balanced.
  bool zigzag = true;
  // Gradients are reduced, and weights gathered, overlapped with computation.
  bool dp_overlap = true;
  RankOrder order = RankOrder::kDataBeforePipeline;
  // Tokens travel to and from experts overlapped with the computation of another micro-batch: a
  // forward and a backward pass run as a pair (Megatron's --overlap-moe-expert-parallel-comm).
  bool ep_overlap = false;
  ExpertDispatcher dispatcher = ExpertDispatcher::kAllToAll;
  // Largest number of nodes that hold the experts of one token (node-limited routing; DeepSeek-V3:
  // 4); 0: the number that the model's router implies by its groups of experts. Only kFlex sends
  // fewer bytes for it: the other dispatchers send a copy per expert, wherever it is.
  int route_nodes = 0;

  int expert_tp() const { return etp > 0 ? etp : tp; }
  // How many ranks divide a layer.
  RankShare rank_share() const {
    return {.tp = tp, .expert_tp = expert_tp(), .ep = ep, .cuts_groups = true};
  }
  std::int64_t devices() const { return std::int64_t{tp} * cp * dp * pp; }
  int data_ranks() const { return dp * cp; }  // ranks with the same weights
  // cp = head_ranks * ring_ranks: ranks that share heads, and ranks that share the sequence.
  int head_ranks() const {
    return context == ContextMethod::kUlysses ? cp : context == ContextMethod::kUsp ? ulysses : 1;
  }
  int ring_ranks() const { return cp / head_ranks(); }
  bool mirrored() const { return zigzag && ring_ranks() > 1; }
  // Ranks with the same experts.
  int expert_data_ranks() const { return tp * cp * dp / (ep * expert_tp()); }
  int sharding() const { return shard > 0 ? shard : data_ranks(); }
  int resharding() const { return !reshard ? 1 : reshard_ranks > 0 ? reshard_ranks : sharding(); }
  // Number of ranks with the same experts among `of_data_ranks` data-parallel ranks.
  int expert_peers(int of_data_ranks) const {
    const std::int64_t peers = std::int64_t{expert_data_ranks()} * of_data_ranks / data_ranks();
    return static_cast<int>(std::max<std::int64_t>(1, peers));
  }
  bool operator==(const TrainingPlan&) const = default;
};

// How fp8 operands are scaled: by one factor for a tensor, from the largest values of earlier steps
// (kTensor, delayed scaling) or from its own (kCurrent, which reads the tensor once more), or by a
// factor for each block (kBlock: 128 elements, kMx: 32).
enum class Fp8Recipe { kTensor, kBlock, kMx, kCurrent };

struct TrainingPrecision {
  // Format of the large products: fp32, tf32, fp16, bf16, fp8, fp4 (nvfp4). LM head, router,
  // embedding and attention are computed in `activations`.
  Dtype compute = Dtype::kBf16;
  Fp8Recipe recipe = Fp8Recipe::kTensor;
  // Format of the residual stream and of the weights that products read: fp32, fp16, bf16.
  Dtype activations = Dtype::kBf16;
  Dtype gradients = Dtype::kFp32;  // as accumulated and reduced: fp32, fp16, bf16
  bool master_weights = true;      // the optimizer updates an fp32 copy of the weights
  Dtype moments = Dtype::kFp32;    // moments of the optimizer: fp32, bf16, fp16, fp8, int8
  bool fp8_parameters = false;     // weights are kept and gathered in fp8
  bool operator==(const TrainingPrecision&) const = default;
};

enum class Recompute {
  kNone,
  kSelective,  // modules of a layer (recompute_module.h)
  kFull,       // whole layers, from their inputs
};

enum class Optimizer { kAdam, kSgd, kAdafactor, kMuon };

// The weights that are trained.
enum class Tuning {
  kFull,   // all weights
  kLora,   // low-rank adapters of frozen weights
  kQlora,  // adapters of a 4-bit base that is widened for every product
  kDora,   // adapters, and a trained magnitude of every column
};

struct TrainingJob {
  TrainingPlan plan;
  TrainingPrecision precision;
  Recompute recompute = Recompute::kNone;
  // kFull: number of recomputed layers of each virtual stage; 0: all.
  int recompute_layers = 0;
  // kSelective: the modules; empty: the core of attention (Korthikanti et al. 2022,
  // arXiv:2205.05198).
  std::vector<RecomputeModule> recompute_modules;
  bool recomputes(RecomputeModule module) const;
  Optimizer optimizer = Optimizer::kAdam;
  Tuning tuning = Tuning::kFull;
  int lora_rank = 16;
  // Adapted projections: any of q, k, v, o, gate, up, down.
  std::vector<std::string> lora_targets = {"q", "k", "v", "o"};
  // Format in which adapters, their gradients and, without a master copy, the weights that the
  // optimizer updates are kept (PEFT: fp32 unless autocast_adapter_dtype is off; the script of the
  // QLoRA paper: bf16). None: that of the activations, with the job's gradients and master weights.
  std::optional<Dtype> adapter_format;
  // The states of the optimizer lie in memory that pages to the host when the device is full
  // (bitsandbytes' paged optimizers).
  bool paged_optimizer = false;

  std::int64_t seq = 2048;  // tokens of a sequence (of a packed one: of all its documents)
  // Mean length of the documents that are packed into a sequence, each of which attends to itself
  // alone; 0: a sequence is one document.
  std::int64_t document = 0;
  std::int64_t attended() const { return document > 0 && document < seq ? document : seq; }
  std::int64_t micro_batch = 1;   // sequences of a dp rank at once
  std::int64_t global_batch = 1;  // sequences of a step of the optimizer

  bool flash = true;                 // attention without its scores in memory
  bool fused_cross_entropy = false;  // loss without a copy of the logits in fp32
  bool dropout = false;              // masks are written and kept
  double expert_skew = 0;            // exponent of the power law of expert loads
  // Largest number of tokens of an expert over the mean; tokens above it are dropped. 0: no limit.
  double capacity_factor = 0;
  bool offload_optimizer = false;    // states and step on the host
  bool offload_activations = false;  // saved tensors go to host memory and come back

  std::int64_t micro_batches() const { return global_batch / (micro_batch * plan.dp); }
  bool operator==(const TrainingJob&) const = default;
};

// Position of a rank, 0 to devices()-1, in each of its groups; `ep` is its group of experts.
struct RankPosition {
  int tp = 0, cp = 0, dp = 0, pp = 0, ep = 0;
  bool operator==(const RankPosition&) const = default;
};
// InputError: the job has no such rank.
RankPosition position_of(const TrainingPlan& plan, std::int64_t rank);

// Name of the pipeline schedule that the plan runs: `plan.schedule`, or if that is empty 1f1b with
// one chunk a stage and interleaved with several. With one stage it is 1f1b, unless the schedule
// needs no pipeline (PipelineScheduleTraits::on_one_stage). With ep_overlap it is the schedule that
// pairs passes in place of that one (PipelineScheduleTraits::paired_by_overlap). A name that the
// registry does not have is returned as it is.
std::string_view schedule_name(const TrainingPlan& plan);

// Tokens of a micro-batch that one rank works on.
inline std::int64_t rank_tokens(const TrainingJob& job) {
  return job.micro_batch * job.seq / job.plan.cp;
}

// The plan for which the forward Program of one stage is made (program.h): tensor and expert
// parallelism, and data-parallel ranks only as far as they share experts.
ParallelPlan stage_plan(const TrainingPlan& plan);

// The number formats of that Program.
Precision stage_precision(const TrainingPrecision& precision);

// Layers of a virtual stage. REQUIRES that check_job accepts, 0 <= chunk < pp*vp.
StageLayers chunk_layers(const Architecture& model, const TrainingPlan& plan, int chunk);

// Checks a job against a model. The message of an error says which rule fails, with the numbers.
//
// InputError: sizes below 1, zero tokens, formats that the lists above do not have, unknown LoRA
// targets, a LoRA rank of 0. NoData: compressed attention, attention to chosen blocks and
// hyper-connections, whose backward passes have no ops. Infeasible unless
// - the rules of check_plan hold for tp, etp and ep; tp is not above the groups of recurrent layers
//   (mamba_mixer.py of Megatron-Core);
// - ep*etp divides tp*cp*dp; with ep_overlap the schedule runs pairs, or can (schedule_name);
// - the model has the modules of `recompute_modules`;
// - layers divide by pp*vp, or by `rule`, or `split` has that many entries that add up to the
//   layers;
// - micro_batch*dp divides global_batch;
// - cp divides the sequence (2*cp with zigzag); with cp > 1 every mixer is softmax or latent
//   attention, and the number of ranks that share heads (cp for Ulysses, `ulysses` for usp) divides
//   the key-value heads of a tensor-parallel rank; `ulysses` divides cp and is given for usp alone;
// - shard divides dp*cp, and reshard_ranks the ranks of `shard`.
void check_job(const Architecture& model, const TrainingJob& job);

std::string_view to_text(Recompute recompute);
std::string_view to_text(Optimizer optimizer);
std::string_view to_text(Tuning tuning);
std::string_view to_text(ContextMethod method);
std::string_view to_text(Fp8Recipe recipe);

}  // namespace orrery
