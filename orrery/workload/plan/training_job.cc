#include "orrery/workload/plan/training_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/workload/plan/pipeline_schedules.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 7> kTargets = {"q", "k", "v", "o", "gate", "up", "down"};
constexpr std::int64_t kMostTrainingDevices = 1 << 20;

void at_least_one(std::int64_t value, std::string_view what) {
  if (value < 1) throw InputError(fmt::format("{} must be at least 1, got {}", what, value));
}

void check_format(Dtype given, std::string_view what, std::initializer_list<Dtype> allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  std::vector<std::string_view> names;
  for (const Dtype d : allowed) names.push_back(to_text(d));
  throw InputError(
      fmt::format("{} must be one of {}, got {}", what, fmt::join(names, ", "), to_text(given)));
}

void check_sizes(const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  at_least_one(p.tp, "tp"), at_least_one(p.pp, "pp"), at_least_one(p.vp, "vp");
  at_least_one(p.dp, "dp"), at_least_one(p.cp, "cp"), at_least_one(p.ep, "ep");
  at_least_one(job.seq, "seq"), at_least_one(job.micro_batch, "micro_batch");
  at_least_one(job.global_batch, "global_batch");
  if (job.document < 0 || job.seq % job.attended() != 0)
    throw InputError(fmt::format("a sequence of {} tokens does not divide into documents of {}",
                                 job.seq, job.document));
  for (const int size : {p.tp, p.pp, p.vp, p.dp, p.cp, p.ep}) {
    if (size > kMostTrainingDevices || p.devices() > kMostTrainingDevices)
      throw InputError(fmt::format("more than {} devices", kMostTrainingDevices));
  }
  if (p.etp < 0 || p.shard < 0 || p.reshard_ranks < 0 || job.recompute_layers < 0)
    throw InputError("etp, shard, reshard_ranks and recompute_layers must not be negative");
  if (p.zero < 0 || p.zero > 3)
    throw InputError(fmt::format("zero must be 0, 1, 2 or 3, got {}", p.zero));
  if (job.tuning == Tuning::kFull) return;
  at_least_one(job.lora_rank, "lora_rank");
  if (job.adapter_format)
    check_format(*job.adapter_format, "adapter_format", {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16});
  if (job.lora_targets.empty()) throw InputError("lora_targets names no projection");
  for (const std::string& t : job.lora_targets) {
    if (std::find(kTargets.begin(), kTargets.end(), t) == kTargets.end())
      throw InputError(
          fmt::format("unknown LoRA target '{}'; known: {}", t, fmt::join(kTargets, ", ")));
  }
}

void check_formats(const TrainingPrecision& p) {
  using D = Dtype;
  check_format(p.compute, "compute", {D::kFp32, D::kTf32, D::kFp16, D::kBf16, D::kFp8, D::kFp4});
  check_format(p.activations, "activations", {D::kFp32, D::kFp16, D::kBf16});
  check_format(p.gradients, "gradients", {D::kFp32, D::kFp16, D::kBf16});
  check_format(p.moments, "moments", {D::kFp32, D::kBf16, D::kFp16, D::kFp8, D::kInt8});
  // Products narrow what they read (autocast), never widen it; attention would be in 16 bits.
  const bool wide = p.compute == D::kFp32 || p.compute == D::kTf32;
  const bool other = p.compute == D::kFp16   ? p.activations == D::kBf16
                     : p.compute == D::kBf16 ? p.activations == D::kFp16
                                             : wide && p.activations != D::kFp32;
  if (other)
    throw InputError(fmt::format(
        "products in {} do not read activations in {}: give activations {}", to_text(p.compute),
        to_text(p.activations), to_text(wide ? D::kFp32 : p.compute)));
}

// Elements of the query projection of a mixer; 0 if it has none from the residual stream.
struct QueryProjection {
  double elements = 0;
  void matrix(const LayerMatrix& m) {
    if (m.role == "q") elements = static_cast<double>(m.outputs.total() * m.inputs.total());
  }
  void vector(const LayerVector&) {}
};

// Parameters of the LM head in those that a token passes through in a layer, of the mean layer, as
// Nanotron counts them (get_block_compute_costs in src/nanotron/models/llama.py): norms are left
// out, and key and value projections count as wide as the query projection.
double head_in_layers(const Architecture& model) {
  double layers = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const LayerSpec& spec = model.layers.specs()[i];
    const LayerParameters n = count_parameters(spec, model.hidden, model.norm);
    QueryProjection query;
    if (kept_state(spec.mixer).entry.grouped > 0) declare(spec.mixer, model.hidden, query);
    constexpr double kProjections = 4;
    const double mixer =
        query.elements > 0 ? kProjections * query.elements : static_cast<double>(n.mixer);
    const std::int64_t mlp = n.mlp + n.router + n.shared_experts + n.top_k * n.expert;
    const double count = model.layers.count(static_cast<int>(i), 0, model.layers.size());
    layers += count * (mixer + static_cast<double>(mlp));
  }
  return layers > 0 ? 1.0 * model.vocab * model.hidden * model.layers.size() / layers : 0;
}

void check_layers(const Architecture& model, const TrainingPlan& p) {
  const int chunks = p.pp * p.vp, layers = model.layers.size();
  if (p.vp > 1 && p.pp == 1)
    throw Infeasible(fmt::format("vp {}: model chunks need pipeline stages, pp is 1", p.vp));
  if (p.rule.given()) {
    if (!p.split.empty())
      throw Infeasible("split lists the layers of each virtual stage: it excludes flags that do");
    split_by_rule(p.rule, layers, head_in_layers(model), p.pp, p.vp);
    return;
  }
  if (p.split.empty()) {
    if (layers % chunks == 0) return;
    constexpr int kPrinted = 64;  // entries that a message has room for
    const std::string such_as =
        layers < chunks || chunks > kPrinted
            ? ""
            : fmt::format(", such as {}", fmt::join(uneven_split(layers, chunks), ","));
    throw Infeasible(fmt::format(
        "the {} layers of {} do not divide by pp {} x vp {} = {}; give the layers of each virtual "
        "stage (split){}",
        layers, model.id, p.pp, p.vp, chunks, such_as));
  }
  if (static_cast<int>(p.split.size()) != chunks)
    throw Infeasible(fmt::format("split has {} entries, pp {} x vp {} needs {}", p.split.size(),
                                 p.pp, p.vp, chunks));
  const auto total = std::accumulate(p.split.begin(), p.split.end(), std::int64_t{0});
  if (std::any_of(p.split.begin(), p.split.end(), [](std::int64_t n) { return n < 0; }) ||
      total != layers)
    throw Infeasible(fmt::format("split adds up to {} layers, {} has {}", total, model.id, layers));
}

void check_context(const Architecture& model, const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  if (p.ulysses < 1) throw InputError("ulysses must not be below 1");
  if (p.ulysses > 1 && p.context != ContextMethod::kUsp)
    throw InputError(fmt::format("ulysses {} splits the ranks of context method usp, not of {}",
                                 p.ulysses, to_text(p.context)));
  if (p.cp % p.ulysses != 0)
    throw Infeasible(fmt::format("ulysses {} does not divide cp {}", p.ulysses, p.cp));
  if (p.cp == 1) return;
  const std::int64_t parts = (p.mirrored() ? 2 : 1) * std::int64_t{p.cp};
  if (job.attended() % parts != 0)
    throw Infeasible(fmt::format(
        "cp {}: each rank takes {} equal parts of a document, {} tokens do not divide by {}", p.cp,
        p.mirrored() ? "two of 2*cp" : "one of cp", job.attended(), parts));
  if (model.kind != Kind::kDecoder)
    throw Infeasible(fmt::format("cp {}: {} is no decoder", p.cp, model.id));
  for (const LayerSpec& layer : model.layers.specs()) {
    const Width keys = attention_widths(layer.mixer).keys;
    if (keys.total() == 0 && has_mixer(layer.mixer))
      throw Infeasible(
          fmt::format("cp {}: {} has recurrent layers, whose state passes from token to token",
                      p.cp, model.id));
    const int heads = groups_per_rank(keys.groups, p.tp);
    if (keys.grouped > 0 && heads % p.head_ranks() != 0)
      throw Infeasible(
          fmt::format("cp {} by all-to-all (ulysses) does not divide the {} key-value heads that "
                      "each tensor-parallel rank of {} has",
                      p.head_ranks(), heads, model.id));
  }
}

// Only the keys and values of attention are cut and gathered (RankShare::cuts_groups).
void check_groups(const Architecture& model, const TrainingPlan& p) {
  for (const LayerSpec& layer : model.layers.specs()) {
    const Width inputs = kept_state(layer.mixer).convolution;
    if (inputs.grouped > 0 && p.tp > inputs.groups)
      throw Infeasible(fmt::format(
          "tp {}: {} has recurrent layers with {} groups, which no training framework copies or "
          "cuts; valid tp: at most {}",
          p.tp, model.id, inputs.groups, inputs.groups));
  }
}

// nullptr: the registry has no schedule of that name.
const PipelineScheduleTraits* schedule_traits(std::string_view name) {
  for (const PipelineScheduleKind& k : pipeline_schedule_kinds()) {
    if (k.name == name) return &k.traits;
  }
  return nullptr;
}

// The schedules that accept ep_overlap, with those that another one takes the place of.
std::string overlapping_schedules() {
  std::vector<std::string_view> names;
  for (const PipelineScheduleKind& k : pipeline_schedule_kinds()) {
    if (!k.traits.paired_by_overlap.empty() || k.traits.pairs_passes) names.push_back(k.name);
  }
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

// Parts whose backward passes have no ops.
void check_parts(const Architecture& model) {
  for (const LayerSpec& layer : model.layers.specs()) {
    const std::string_view part = layer.residual_streams > 1 && untrained_part(layer.mixer).empty()
                                      ? "hyper-connections"
                                      : untrained_part(layer.mixer);
    if (!part.empty())
      throw NoData(fmt::format("{}: training of {} is not modelled", model.id, part));
  }
}

void check_modules(const Architecture& model, const TrainingJob& job) {
  if (job.recompute != Recompute::kSelective && !job.recompute_modules.empty())
    throw InputError("recompute_modules are modules of selective recomputation");
  const auto any = [&model](auto has) {
    return std::any_of(model.layers.specs().begin(), model.layers.specs().end(), has);
  };
  if (job.recomputes(RecomputeModule::kProducts) && job.recompute_modules.size() > 1)
    throw InputError("recompute module products excludes other modules");
  for (const RecomputeModule module : job.recompute_modules) {
    const bool experts =
        module == RecomputeModule::kMoe || module == RecomputeModule::kMoeActivation;
    const bool found =
        experts ? any([](const LayerSpec& l) { return std::holds_alternative<MoeMlp>(l.mlp); })
        : module == RecomputeModule::kMlp
            ? any([](const LayerSpec& l) { return std::holds_alternative<DenseMlp>(l.mlp); })
        : module == RecomputeModule::kMlaUpProj
            ? any([](const LayerSpec& l) { return has_up_projections(l.mixer); })
            : true;
    if (!found)
      throw Infeasible(fmt::format("recompute module {}: {} has none",
                                   kRecomputeModules[index(module)], model.id));
  }
}

void check_experts(const TrainingPlan& p) {
  const std::int64_t ranks = std::int64_t{p.tp} * p.cp * p.dp;
  const std::int64_t group = std::int64_t{p.ep} * p.expert_tp();
  if (p.ep > 1 && ranks % group != 0)
    throw Infeasible(fmt::format(
        "ep {} x etp {} = {} does not divide the {} ranks of a stage (tp {} x cp {} x dp {})", p.ep,
        p.expert_tp(), group, ranks, p.tp, p.cp, p.dp));
  if (!p.ep_overlap || p.ep == 1) return;
  const PipelineScheduleTraits* traits = schedule_traits(schedule_name(p));
  if (!traits || !traits->pairs_passes)
    throw Infeasible(fmt::format(
        "ep_overlap overlaps a forward with another micro-batch's backward, which schedule {} does "
        "not; {} do",
        schedule_name(p), overlapping_schedules()));
}

}  // namespace

std::string_view schedule_name(const TrainingPlan& plan) {
  constexpr std::string_view kOneChunk = "1f1b", kSeveralChunks = "interleaved";
  std::string_view name = plan.schedule;
  if (name.empty()) name = plan.vp > 1 ? kSeveralChunks : kOneChunk;
  const PipelineScheduleTraits* traits = schedule_traits(name);
  if (plan.pp == 1 && !(traits && traits->on_one_stage)) {
    name = kOneChunk;
    traits = schedule_traits(name);
  }
  const bool paired = plan.ep_overlap && plan.ep > 1 && traits;
  return paired && !traits->paired_by_overlap.empty() ? traits->paired_by_overlap : name;
}

RankPosition position_of(const TrainingPlan& plan, std::int64_t rank) {
  if (rank < 0 || rank >= plan.devices())
    throw InputError(fmt::format("rank {} is out of range: a job on {} GPUs has ranks 0 to {}",
                                 rank, plan.devices(), plan.devices() - 1));
  RankPosition at;
  const auto next = [&](int size) {
    const auto position = static_cast<int>(rank % size);
    rank /= size;
    return position;
  };
  at.tp = next(plan.tp), at.cp = next(plan.cp);
  if (plan.order == RankOrder::kDataBeforePipeline) {
    at.dp = next(plan.dp), at.pp = next(plan.pp);
  } else {
    at.pp = next(plan.pp), at.dp = next(plan.dp);
  }
  const int of_stage = at.tp + plan.tp * (at.cp + plan.cp * at.dp);
  at.ep = of_stage / plan.expert_tp() % plan.ep;
  return at;
}

ParallelPlan stage_plan(const TrainingPlan& plan) {
  const int group = plan.ep * plan.expert_tp();
  return {.tp = plan.tp,
          .pp = 1,
          .dp = std::max(1, group / plan.tp),
          .ep = plan.ep,
          .cuts_groups = true};
}

Precision stage_precision(const TrainingPrecision& p) {
  const auto format = [&]() -> Format {
    switch (p.compute) {
      case Dtype::kFp8:
        return p.recipe == Fp8Recipe::kBlock ? Format::kFp8Block : Format::kFp8;
      case Dtype::kFp4:
        return Format::kNvfp4;
      case Dtype::kTf32:
        return Format::kTf32;
      default:
        return plain_format(p.compute);
    }
  }();
  Precision out;
  out.weights = out.experts = format;
  out.lm_head = plain_format(p.activations);
  out.activations = out.attention = out.kv_cache = p.activations;
  return out;
}

StageLayers chunk_layers(const Architecture& model, const TrainingPlan& plan, int chunk) {
  const int chunks = plan.pp * plan.vp;
  assert(0 <= chunk && chunk < chunks);
  if (plan.split.empty() && plan.rule.given()) {
    TrainingPlan listed = plan;
    listed.split =
        split_by_rule(plan.rule, model.layers.size(), head_in_layers(model), plan.pp, plan.vp);
    return chunk_layers(model, listed, chunk);
  }
  if (plan.split.empty()) {
    const int each = model.layers.size() / chunks;
    return {chunk * each, (chunk + 1) * each};
  }
  const auto at = plan.split.begin() + chunk;
  const auto first = std::accumulate(plan.split.begin(), at, std::int64_t{0});
  return {static_cast<int>(first), static_cast<int>(first + *at)};
}

void check_job(const Architecture& model, const TrainingJob& job) {
  check_sizes(job);
  check_formats(job.precision);
  const TrainingPlan& p = job.plan;
  check_parts(model);
  check_layers(model, p);
  check_modules(model, job);
  check_experts(p);
  // Blocks of fp8 weights are padded by the frameworks that train: the plain format's rules hold.
  check_plan(model, stage_plan(p), {});
  check_groups(model, p);
  check_context(model, job);
  if (job.global_batch % (job.micro_batch * p.dp) != 0)
    throw Infeasible(
        fmt::format("a global batch of {} sequences does not divide by micro batch {} x dp {} = {}",
                    job.global_batch, job.micro_batch, p.dp, job.micro_batch * p.dp));
  if (p.data_ranks() % p.sharding() != 0)
    throw Infeasible(fmt::format("shard {} does not divide dp {} x cp {} = {}", p.shard, p.dp, p.cp,
                                 p.data_ranks()));
  if (p.sharding() % p.resharding() != 0)
    throw Infeasible(fmt::format("reshard_ranks {} does not divide the {} ranks that share weights",
                                 p.reshard_ranks, p.sharding()));
}

bool TrainingJob::recomputes(RecomputeModule module) const {
  if (recompute != Recompute::kSelective) return false;
  if (recompute_modules.empty()) return module == RecomputeModule::kCoreAttention;
  return std::find(recompute_modules.begin(), recompute_modules.end(), module) !=
         recompute_modules.end();
}

std::string_view to_text(Recompute recompute) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "selective", "full"};
  return kNames[index(recompute)];
}
std::string_view to_text(Optimizer optimizer) {
  constexpr std::array<std::string_view, 4> kNames = {"adam", "sgd", "adafactor", "muon"};
  return kNames[index(optimizer)];
}
std::string_view to_text(Tuning tuning) {
  constexpr std::array<std::string_view, 4> kNames = {"full", "lora", "qlora", "dora"};
  return kNames[index(tuning)];
}
std::string_view to_text(ContextMethod method) {
  constexpr std::array<std::string_view, 4> kNames = {"ring", "all-gather", "ulysses", "usp"};
  return kNames[index(method)];
}
std::string_view to_text(Fp8Recipe recipe) {
  constexpr std::array<std::string_view, 4> kNames = {"tensor", "block", "mx", "current"};
  return kNames[index(recipe)];
}

}  // namespace orrery
