#include "orrery/scenario/kinds/training/training_question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "orrery/base/kinds.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

constexpr const char* kExperts = "a model with experts";
constexpr std::int64_t kMostTrainingRanks = 1 << 20, kLongest = 100'000'000;

// The names after the empty name of the default.
std::vector<std::string> optional(std::vector<std::string> names) {
  names.insert(names.begin(), "");
  return names;
}

// The names of a registry, after the empty name of the default.
template <class Kind>
std::vector<std::string> optional_names(const std::vector<Kind>& kinds) {
  return optional(names_of(kinds));
}

// A choice by its names, in the order of the values of the enum, that may be left open by an empty
// text.
template <class E>
Field& add_open_choice(Fields& f, std::string name, std::optional<E>& value,
                       std::vector<std::string> names, std::string doc) {
  enum class Choice : int { kOpen };
  const auto choice = std::make_shared<Choice>(Choice::kOpen);
  const auto plain = std::make_shared<Fields>();
  const Field& named = plain->add_enum(name, *choice, optional(std::move(names)), doc);
  const auto read = [&value, choice, plain, &named](const Node& n) {
    named.read(n);
    const int at = static_cast<int>(*choice);
    value = at == 0 ? std::nullopt : std::optional(static_cast<E>(at - 1));
  };
  const auto json = [&value, choice, plain, &named] {
    *choice = value ? static_cast<Choice>(static_cast<int>(*value) + 1) : Choice::kOpen;
    return named.json();
  };
  return f.custom(std::move(name), Field::Type::kText, read, json, std::move(doc))
      .one_of(named.choices());
}

void declare_split(Fields& f, TrainingQuestion& q) {
  constexpr std::int64_t kMostLayers = 10'000;
  const Sweep equal = {0};
  std::vector<std::int64_t>& split = q.job.plan.split;
  f.custom(
       "split", Field::Type::kList,
       [&q, &split, equal](const Node& n) {
         q.best_split = n.is_scalar() && n.text() == "auto";
         split = q.best_split ? equal : read_sweep(n, 0, kMostLayers);
         if (split == equal) split.clear();
       },
       [&q, &split, equal] {
         if (q.best_split) return nlohmann::ordered_json("auto");
         return nlohmann::ordered_json(split.empty() ? equal : split);
       },
       "layers of each virtual stage in the order of the model; 0: equal shares; auto: those with "
       "the shortest iteration")
      .range(0, kMostLayers);
  SplitRule& rule = q.job.plan.rule;
  const auto staged = [&q] { return q.job.plan.pp > 1; };
  constexpr const char* kStages = "training.pp above 1";
  f.add("split_embedding", rule.embedding,
        "the embedding counts as a layer of the first virtual stage")
      .alias("account_for_embedding_in_pipeline_split")
      .needs(kStages, staged);
  f.add("split_loss", rule.loss, "the LM head and the loss count as a layer of the last one")
      .alias("account_for_loss_in_pipeline_split")
      .needs(kStages, staged);
  f.add("first_layers", rule.first, "layers of the first pipeline stage; 0: as many as the others")
      .range(0, 10'000)
      .alias("decoder_first_pipeline_num_layers")
      .needs(kStages, staged);
  f.add("last_layers", rule.last, "layers of the last pipeline stage; 0: as many as the others")
      .range(0, 10'000)
      .alias("decoder_last_pipeline_num_layers")
      .needs(kStages, staged);
}

void declare_sizes(Fields& f, TrainingQuestion& q) {
  TrainingPlan& plan = q.job.plan;
  add_sweep(f, "gpus", q.gpus, 1, kMostTrainingRanks, "GPUs of the job").alias("world_size");
  add_sweep(f, "tp", plan.tp, 1, kMostTrainingRanks, "tensor-parallel ranks")
      .alias("tensor_model_parallel_size");
  add_sweep(f, "cp", plan.cp, 1, kMostTrainingRanks, "context-parallel ranks")
      .alias("context_parallel_size");
  add_sweep(f, "pp", plan.pp, 1, kMostTrainingRanks, "pipeline stages")
      .alias("pipeline_model_parallel_size");
  add_sweep(f, "vp", plan.vp, 1, 1024, "model chunks per pipeline stage (interleaving)")
      .alias("virtual_pipeline_model_parallel_size")
      .alias("num_virtual_stages_per_pipeline_rank");
  add_sweep(f, "ep", plan.ep, 1, kMostTrainingRanks, "expert-parallel groups")
      .alias("expert_model_parallel_size");
  add_sweep(f, "seq", q.job.seq, 0, kLongest, "tokens of a sequence")
      .alias("seq_length")
      .unit("tokens");
  add_sweep(f, "micro_batch", q.job.micro_batch, 1, kLongest,
            "sequences in a micro-batch of one data-parallel rank")
      .alias("micro_batch_size");
  add_open_sweep(f, "global_batch", q.global_batch, 0, kLongest,
                 "sequences in a step of the optimizer; 0: one micro-batch per data-parallel rank")
      .alias("global_batch_size");
  declare_split(f, q);
}

auto above_one(const int& size) {
  return [&size] { return size > 1; };
}

void declare_plan(Fields& f, TrainingQuestion& q) {
  TrainingPlan& p = q.job.plan;
  f.add("etp", p.etp, "tensor-parallel ranks of an expert; 0: tp")
      .range(0, kMostTrainingRanks)
      .alias("expert_tensor_parallel_size")
      .needs(kExperts);
  f.add("tp_overlap", p.tp_overlap, "overlap tensor-parallel communication with matrix products")
      .alias("tp_comm_overlap");
  f.add("tp_overlap_pieces", p.tp_overlap_pieces,
        "pieces of a product and its collective; 0: tp (the ring of user buffers, async TP); 4: "
        "TransformerEngine's pipelined reduce-scatter")
      .range(0, 1024)
      .needs("training.tp_overlap", [&p] { return p.tp_overlap; });
  f.add("schedule", p.schedule, "pipeline schedule; empty: 1f1b, or interleaved if vp is above 1")
      .one_of(optional_names(pipeline_schedule_kinds()))
      .needs("training.pp above 1", above_one(p.pp));
  f.add("shard", p.shard,
        "ranks among which parameters are sharded (HSDP); 0: all data-parallel ranks")
      .range(0, kMostTrainingRanks)
      .alias("fsdp");
  const auto shards_weights = [&q] { return q.zero.value_or(stack_of(q).zero) == 3; };
  f.add("reshard", p.reshard, "zero 3: weights are dropped after the forward pass")
      .needs("training.zero 3", shards_weights);
  f.add("reshard_ranks", p.reshard_ranks,
        "neighbours that keep the weights between them after the forward pass (FSDP2's "
        "reshard_after_forward, ZeRO++'s secondary shard); 0: all that share them")
      .range(0, kMostTrainingRanks)
      .alias("zero_hpz_partition_size")
      .needs("training.zero 3 and reshard",
             [shards_weights, &p] { return shards_weights() && p.reshard; });
  f.add_enum("prefetch", p.prefetch, {"pre", "post", "none"},
             "when a backward pass gathers the next layer's weights: before the layer's "
             "computation, after it, or after its gradients have left (PyTorch's BackwardPrefetch)")
      .alias("backward_prefetch")
      .spelled("backward_pre", "pre")
      .spelled("backward_post", "post")
      .spelled("no_prefetch", "none")
      .needs("training.zero 3, reshard and dp_overlap",
             [shards_weights, &p] { return shards_weights() && p.reshard && p.dp_overlap; });
  f.add("dp_overlap", p.dp_overlap,
        "overlap the communication of gradients and weights with computation")
      .alias("overlap_grad_reduce");
  f.add_enum("rank_order", p.order, {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"},
             "order in which ranks are numbered, the innermost first (Megatron's "
             "--use-tp-pp-dp-mapping is the second)");
  f.add("ep_overlap", p.ep_overlap,
        "overlap the exchange of the experts with the computation of another micro-batch, forward "
        "and backward passes in pairs")
      .alias("overlap_moe_expert_parallel_comm")
      .needs("training.ep above 1", above_one(p.ep));
  f.add("route_nodes", p.route_nodes,
        "most nodes among which the experts of a token lie (node-limited routing); 0: as the "
        "router of the model groups its experts")
      .range(0, kMostTrainingRanks)
      .needs("training.ep above 1", above_one(p.ep));
  f.add_enum("context_method", p.context, {"ring", "all-gather", "ulysses", "usp"},
             "how context-parallel ranks share keys and values")
      .alias("cp_comm_type")
      .spelled("p2p", "ring")
      .spelled("a2a", "ulysses")
      .spelled("a2a+p2p", "usp")
      .needs("training.cp above 1", above_one(p.cp));
  f.add("ulysses", p.ulysses,
        "context method usp: consecutive ranks that share heads; rings go between such groups")
      .range(1, kMostTrainingRanks)
      .needs("training.context_method usp", [&p] { return p.context == ContextMethod::kUsp; });
  f.add("zigzag", p.zigzag,
        "context-parallel ranks take two parts of a sequence that mirror each other; false: "
        "consecutive parts, the last with most causal work")
      .needs("training.cp above 1", above_one(p.cp));
}

void declare_formats(Fields& f, TrainingPrecision& p) {
  f.add("compute", p.compute,
        "number format of the large products: bf16, fp16, fp8, fp4, tf32, fp32");
  f.add_enum(
       "fp8_recipe", p.recipe, {"tensor", "block", "mx", "current"},
       "how fp8 operands are scaled: a tensor by the largest values of earlier steps, blocks, "
       "mx blocks, a tensor by its own largest value")
      .spelled("delayed", "tensor")
      .spelled("tensorwise", "current")
      .spelled("blockwise", "block")
      .spelled("mxfp8", "mx")
      .needs("training.compute fp8", [&p] { return p.compute == Dtype::kFp8; });
  f.add("activations", p.activations, "format of activations and weights: bf16, fp16, fp32");
  f.add("gradients", p.gradients,
        "format in which gradients are summed and reduced: fp32, bf16, fp16");
  f.add("master_weights", p.master_weights, "the optimizer keeps an fp32 copy of the weights");
  f.add("moments", p.moments, "format of the optimizer's moments: fp32, bf16, fp16, fp8, int8");
  f.add("fp8_parameters", p.fp8_parameters, "weights are kept and gathered in fp8")
      .alias("fp8_param_gather");
}

// Reads a list, or names separated by commas as flags have them.
std::vector<std::string> read_names(const Node& n) {
  std::vector<std::string> names;
  if (n.is_list()) {
    for (const Node& item : n.items()) names.push_back(item.as_string());
    return names;
  }
  const std::string& text = n.as_string();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::vector<RecomputeModule> read_modules(const Node& n) {
  std::vector<RecomputeModule> modules;
  for (const std::string& name : read_names(n)) {
    const auto found = std::find(kRecomputeModules.begin(), kRecomputeModules.end(), name);
    if (found == kRecomputeModules.end()) {
      const std::vector<std::string> known(kRecomputeModules.begin(), kRecomputeModules.end());
      n.fail(fmt::format("unknown module '{}'{}; known: {}", name, did_you_mean(name, known),
                         fmt::join(known, ", ")));
    }
    modules.push_back(static_cast<RecomputeModule>(found - kRecomputeModules.begin()));
  }
  return modules;
}

void declare_job(Fields& f, TrainingQuestion& q) {
  TrainingJob& j = q.job;
  const auto adapted = [&j] { return j.tuning != Tuning::kFull; };
  constexpr const char* kTuning = "training.tuning lora, qlora or dora";
  f.add("recompute_layers", j.recompute_layers,
        "recompute full: number of layers of a virtual stage that are recomputed; 0: all")
      .range(0, 10'000)
      .alias("recompute_num_layers")
      .needs("training.recompute full", [&q] { return q.recompute == Recompute::kFull; });
  f.custom(
       "recompute_modules", Field::Type::kList,
       [&j](const Node& n) { j.recompute_modules = read_modules(n); },
       [&j] {
         nlohmann::ordered_json names = nlohmann::ordered_json::array();
         for (const RecomputeModule m : j.recompute_modules)
           names.push_back(kRecomputeModules[static_cast<std::size_t>(m)]);
         return names;
       },
       "recompute selective: modules that are computed again: core_attn, mlp, moe, moe_act, "
       "layernorm, mla_up_proj, products (torchtitan's selective: every second product and all "
       "elementwise kernels); empty: what the stack recomputes by itself")
      .unit("names")
      .needs("training.recompute selective", [&q] { return q.recompute == Recompute::kSelective; });
  f.add_enum("optimizer", j.optimizer, {"adam", "sgd", "adafactor", "muon"}, "the optimizer")
      .spelled("adamw", "adam");
  f.add_enum("tuning", j.tuning, {"full", "lora", "qlora", "dora"}, "the weights that are trained");
  f.add("lora_rank", j.lora_rank, "rank of the adapters").range(1, 65536).needs(kTuning, adapted);
  f.custom(
       "lora_targets", Field::Type::kList, [&j](const Node& n) { j.lora_targets = read_names(n); },
       [&j] { return nlohmann::ordered_json(j.lora_targets); },
       "adapted projections: q, k, v, o, gate, up, down")
      .unit("names")
      .needs(kTuning, adapted);
  f.add("adapter_format", j.adapter_format,
        "number format of adapters and their gradients, without a master copy: bf16, fp16 or fp32 "
        "(PEFT's default); default: the stack's")
      .needs(kTuning, adapted);
  f.add("document", j.document,
        "mean length in tokens of the documents packed into a sequence; 0: each sequence is one "
        "document")
      .range(0, kLongest)
      .unit("tokens");
  f.add("flash_attention", j.flash,
        "use FlashAttention, which does not write the attention scores to memory");
  f.add("fused_cross_entropy", j.fused_cross_entropy,
        "use a loss kernel that does not copy the logits");
  f.add("dropout", j.dropout, "the model has dropout after attention and MLP");
  f.add("expert_skew", j.expert_skew,
        "exponent of the power law by which tokens are spread over experts; 0: balanced")
      .range(0, 3)
      .needs(kExperts);
  f.add("capacity_factor", j.capacity_factor,
        "most tokens that an expert takes, relative to the mean; 0: no limit")
      .range(0, 1000)
      .needs(kExperts);
  f.add("offload_optimizer", j.offload_optimizer,
        "keep the optimizer's states and do its step on the host");
  f.add("paged_optimizer", j.paged_optimizer,
        "the optimizer's states page to host memory when the device is full (bitsandbytes)");
  f.add("offload_activations", j.offload_activations, "move the saved activations to host memory");
}

}  // namespace

const TrainingStackProfile& stack_of(const TrainingQuestion& q) {
  return training_stack(q.stack.empty() ? "megatron" : q.stack);
}

std::optional<double> release_of(const TrainingQuestion& q) {
  if (q.stack_version.empty()) return std::nullopt;
  if (q.stack.empty()) throw InputError("training.stack_version needs training.stack");
  return stack_release_date(q.stack_version);
}

StackRelease software_of(const TrainingQuestion& q) {
  StackRelease software{release_of(q), std::nullopt};
  if (!q.torch.empty()) software.torch = read_torch_version(q.torch);
  return software;
}

StackTraits traits_of(const TrainingQuestion& q, const Gpu& gpu) {
  const StackRelease software = software_of(q);
  StackTraits traits = stack_traits(stack_of(q), q.compiled, software);
  traits.attention = attention_kernels(
      q.attention.empty() ? attention_of(stack_of(q), software, gpu) : q.attention, gpu);
  traits.grouped_experts = q.grouped_experts.value_or(traits.grouped_experts);
  traits.fused_experts = q.fused_experts;
  return traits;
}

void declare(Fields& f, TrainingQuestion& q) {
  declare_sizes(f, q);
  declare_plan(f, q);
  declare_formats(f, q.job.precision);
  declare_job(f, q);
  f.add("stack", q.stack, "training software; empty: megatron")
      .one_of(optional(training_stack_names()));
  f.add("stack_version", q.stack_version,
        "release of the training software: a date (2025-06), an NVIDIA container (25.09) or a "
        "Megatron Core version (0.12); empty: the usual one of the measured runs");
  f.add("torch", q.torch,
        "release of PyTorch (2.11), which decides on the kernels of attention and of norms in "
        "stacks that leave them to it; empty: that of stack_version, or of the oldest runs");
  f.add("attention", q.attention,
        "library of attention: flash2, flash3 or cudnn; empty: the one that the stack calls on the "
        "GPU")
      .one_of(optional_names(attention_backends()));
  add_open_choice(f, "recompute", q.recompute, {"none", "selective", "full"},
                  "activations that are recomputed in the backward pass; empty: none")
      .alias("recompute_granularity");
  f.add("zero", q.zero,
        "ZeRO stage, the states that are sharded over data-parallel ranks: 1 optimizer states, 2 "
        "also gradients, 3 also weights (FSDP); default: the stack's")
      .range(0, 3)
      .alias_of("1", "use_distributed_optimizer");
  f.add("sequence_parallel", q.sequence_parallel,
        "sequence parallelism: each tensor-parallel rank computes norms and residuals of its part "
        "of the tokens; default: the stack's");
  add_open_choice(
      f, "dispatcher", q.dispatcher, {"alltoall", "allgather", "flex"},
      "way of tokens to their experts: alltoall sends a copy for each expert, allgather sends "
      "all tokens to all ranks, flex (DeepEP, HybridEP) sends one copy to each node; empty: "
      "alltoall")
      .alias("moe_token_dispatcher_type")
      .needs("training.ep above 1", above_one(q.job.plan.ep));
  f.add("own_runs", q.calibration_runs,
        "CSV file of iterations that you measured on this stack and GPU, which correct the "
        "stack's constants; its columns are keys of training and iteration_time")
      .verbatim();
  f.add("compiled", q.compiled, "the job uses torch.compile, which fuses elementwise kernels")
      .alias("compile");
  f.add("grouped_experts", q.grouped_experts,
        "one kernel computes all experts of a rank (torch._grouped_mm), instead of one product for "
        "each expert; default: the stack's")
      .needs(kExperts);
  f.add("fused_experts", q.fused_experts,
        "the kernel of all experts includes the activation and the casts between its products "
        "(TransformerEngine's CuTe DSL grouped MLP, mxfp8 on Blackwell)")
      .needs(kExperts);
  f.add("find_max_batch", q.find_max_batch, "find the largest micro-batch that fits");
  f.add("events", q.events, "simulate every pass of every micro-batch; default: closed form");
  f.add("rank", q.rank,
        "show breakdown and memory of the stage of this rank; default: those of the slowest and of "
        "the fullest stage")
      .range(0, kMostTrainingRanks);
  f.add("tokens", q.tokens,
        "length of the training run in tokens; default: the run is not asked about")
      .range(1, 1e18);
  f.add("samples", q.samples, "length of the training run in sequences")
      .range(1, 1e15)
      .alias("train_samples");
  f.add("iterations", q.iterations, "length of the training run in steps of the optimizer")
      .range(1, 1e12)
      .alias("train_iters");
  const auto whole = [&q] { return q.tokens || q.samples || q.iterations; };
  f.add("eval_interval", q.eval_interval, "steps between evaluations; 0: none")
      .range(0, 1e9)
      .needs("training.tokens, samples or iterations", whole);
  f.add("eval_iterations", q.eval_iterations, "forward passes of a global batch in an evaluation")
      .range(1, 1e9)
      .alias("eval_iters")
      .needs("training.eval_interval", [&q] { return q.eval_interval > 0; });
}

ChanceQuestion usual_chance() {
  ChanceQuestion q;
  q.failures_per_gpu_day = kLlama3FailuresPerGpuDay;
  return q;
}

ChanceQuestion planned_chance() {
  ChanceQuestion q = usual_chance();
  q.checkpoint_write = Seconds(30), q.restart = Seconds(600);
  return q;
}

void declare(Fields& f, ChanceQuestion& q) {
  f.add("gpu_variability", q.variability.gpu,
        "standard deviation of the logarithm of the GPUs' speeds, constant during the run (usually "
        "0.02 to 0.05)")
      .range(0, 1);
  f.add("step_variability", q.variability.step,
        "standard deviation of the logarithm of a rank's speed from step to step")
      .range(0, 1);
  f.add("failures_per_gpu_day", q.failures_per_gpu_day,
        "failures per GPU and day that stop the job; default: Llama 3 405B's, 419 unexpected "
        "interruptions of 16,384 H100 in 54 days (arXiv:2407.21783, section 3.3.4)")
      .range(0, 10);
  f.add("checkpoint_write", q.checkpoint_write, "time that the job loses by a checkpoint");
  f.add("checkpoint_interval", q.checkpoint_interval,
        "time between checkpoints; 0 s: the best interval is chosen");
  f.add("restart", q.restart, "time from a failure to the next step");
  f.add("degraded_links_per_gpu_day", q.degraded_links_per_gpu_day,
        "links per GPU and day that become slow")
      .range(0, 10);
  f.add("link_repair", q.link_repair, "time until a slow link is repaired");
  f.add("degraded_slowdown", q.degraded_slowdown,
        "factor on the time of an iteration while a link is slow")
      .range(1, 100);
  f.add("stalls_per_iteration", q.stalls_per_iteration,
        "probability that the data loader is late in an iteration")
      .range(0, 1);
  f.add("stall", q.stall, "mean time that a late data loader costs");
  f.add("draws", q.draws, "number of random runs that are simulated").range(10, 100'000);
}

void declare(Fields& f, TrainingKeys& k) {
  f.group("training", [&](Fields& g) { declare(g, k.question); }, "an iteration of training");
  f.group(
      "chance", [&](Fields& g) { declare(g, k.chance); },
      "variability, failures and checkpoints of a training run");
}

TrainingQuestion TrainingKeys::asked(bool has_chance) const {
  TrainingQuestion q = question;
  if (has_chance) q.chance = chance;
  return q;
}

TrainingKeys TrainingKeys::of(const TrainingQuestion& question) {
  TrainingKeys keys;
  keys.question = question;
  if (question.chance) keys.chance = *question.chance;
  return keys;
}

}  // namespace orrery
