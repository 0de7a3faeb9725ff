#include "orrery/validate/rows/training_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/validate/rows/row_cells.h"

namespace orrery {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The batch sizes that a row states.
struct Stated {
  std::optional<std::int64_t> micro, global, accumulation;
  int count() const { return micro.has_value() + global.has_value() + accumulation.has_value(); }
};

void set_batch(TrainingRow& row, Stated s) {
  TrainingJob& job = row.job;
  const std::int64_t dp = job.plan.dp;
  if (!s.global && s.micro) {
    s.global = *s.micro * dp * s.accumulation.value_or(1);
  } else if (!s.micro && s.global && s.accumulation) {
    s.micro = std::max<std::int64_t>(1, *s.global / (dp * *s.accumulation));
  } else if (!s.micro) {
    row.undeclared.push_back("micro_batch");
    s.micro = 1;
  }
  if (!s.global) throw NoData("the row states no batch");
  job.micro_batch = *s.micro;
  const std::int64_t at_once = job.micro_batch * dp;
  const std::int64_t m = std::max<std::int64_t>(
      1, std::llround(static_cast<double>(*s.global) / static_cast<double>(at_once)));
  job.global_batch = m * at_once;
  if (job.global_batch != *s.global) {
    row.distrusted = fmt::format("a global batch of {} is no multiple of micro batch {} x dp {}",
                                 *s.global, job.micro_batch, dp);
  } else if (s.accumulation && *s.accumulation != m) {
    row.distrusted =
        fmt::format("states {} micro-batches, its global batch makes {}", *s.accumulation, m);
  }
  if (row.iteration)
    *row.iteration *= static_cast<double>(job.global_batch) / static_cast<double>(*s.global);
}

void set_plan(TrainingRow& row, const RowCells& get) {
  TrainingPlan& p = row.job.plan;
  const StackDefaults& stack = row.stack;
  const auto undeclared = [&](const char* field) { row.undeclared.emplace_back(field); };
  p.ep = get.whole("ep", stated_expert_ranks(row.source, row.model_id));
  read_layout(p, get, row.gpus);
  if (p.pp > 1 && get.text("vp").empty()) undeclared("vp");
  if (const auto dp = get.whole("dp"); dp && *dp != p.dp)
    row.distrusted = fmt::format("states dp {}, its GPUs make {}", *dp, p.dp);
  if (p.ep > 1) {
    if (const auto stated = stated_experts(row.source, row.reference, row.gpu)) {
      p.etp = stated->etp;
      row.job.capacity_factor = stated->capacity;
      if (stated->plain_loss) row.stack.fused_cross_entropy = false;
    } else if (p.tp > 1) {  // as the recipes of NeMo and Bridge for mixtures of experts
      p.etp = 1;
      undeclared("etp");
    }
  }
  // The tables call a schedule with one chunk per stage interleaved with vp 1.
  const std::string schedule = get.text("pp_schedule");
  if (has(schedule, "DualPipe")) p.schedule = "dualpipe";
  if (schedule == "zero-bubble" || schedule == "zbb") p.schedule = "zb-h1";
  if (schedule.starts_with("zbv") || schedule.starts_with("v-")) {
    p.schedule = "zb-v";
    p.vp = 2;
  }
  if (p.pp > 1 && p.vp == 1 && !row.stack.name.empty() &&
      training_stack(row.stack.name).balanced_split) {
    p.rule.balanced = true;
  } else if (row.model.layers.size() % (p.pp * p.vp) != 0) {
    p.split = uneven_split(row.model.layers.size(), p.pp * p.vp);
    undeclared("split");
  }
  const bool sequence_parallel = get.text("sequence_parallel") == "1";
  if (p.tp > 1 && get.text("sequence_parallel").empty()) {
    p.sequence_parallel = stack.sequence_parallel;
    undeclared("sequence_parallel");
  } else {
    p.sequence_parallel = p.tp > 1 && sequence_parallel;
  }
  const std::string flags = get.text("flags");
  p.tp_overlap = p.tp > 1 && (stack.tp_overlap || has(flags, "async_tp") || has(flags, "Async"));
  p.dp_overlap = stack.dp_overlap;
  if (p.ep > 1 && has(flags, "DeepEP")) {
    p.dispatcher = ExpertDispatcher::kFlex;
  } else if (p.ep > 1 &&
             overlaps_experts(row.source, row.model_id, row.gpu, row.dtype, row.version)) {
    p.dispatcher = ExpertDispatcher::kFlex;
    p.ep_overlap = row.fused_experts = true;
  } else if (p.ep > 1 && has_hybrid_ep(row.source, row.model_id, row.gpu, row.version)) {
    p.dispatcher = ExpertDispatcher::kFlex;
  } else if (p.ep > 1) {
    undeclared("dispatcher");
  }
  const bool fsdp = get.whole("fsdp").value_or(0) > 1;
  const int zero = fsdp ? 3 : row.gpus == p.tp * p.pp ? 0 : stack.zero_stage;
  p.zero = get.whole("zero_stage", zero);
  if (p.data_ranks() > 1 && !fsdp && get.text("zero_stage").empty()) undeclared("zero");
  if (has(flags, "--shard-weights")) p.zero = 3;
  auto shard = get.whole("fsdp").value_or(0);
  if (has(flags, "zero1 group=8")) shard = 8;
  if (has(flags, "zero1 group=4")) shard = 4;
  if (shard > 0 && shard < p.data_ranks() && p.data_ranks() % shard == 0)
    p.shard = static_cast<int>(shard);
}

void set_recompute(TrainingRow& row, const RowCells& get) {
  TrainingJob& job = row.job;
  const std::string stated = get.text("recompute"), flags = get.text("flags");
  const auto chunk =
      static_cast<double>(row.model.layers.size()) / static_cast<double>(job.plan.pp * job.plan.vp);
  const auto part_of_layers = [&](double part) {
    job.recompute = Recompute::kFull;
    job.recompute_layers = std::max(1, static_cast<int>(std::lround(part * chunk)));
  };
  if (stated == "full") {
    job.recompute = Recompute::kFull;
  } else if (stated == "none") {
    job.recompute = Recompute::kNone;
  } else if (stated == "selective") {
    const auto mfu = get.number("mfu"), hfu = get.number("hfu");
    // The forward pass, which recomputation repeats, is a third of the model's FLOPs.
    if (row.stack.recomputes_layers && mfu && hfu && *hfu > *mfu) {
      part_of_layers(std::min(1.0, 3 * (*hfu / *mfu - 1)));
    } else if (has(flags, "ac=selective")) {  // torchtitan: every second layer, or product
      part_of_layers(0.5);
    } else if (has(flags, "--recompute-ffn") || has(flags, "--recompute-block")) {
      job.recompute = Recompute::kFull;
    } else {
      job.recompute = Recompute::kSelective;
    }
  } else if (const std::vector<RecomputeModule> modules =
                 stated_modules(row.source, row.model_id, row.gpu, row.dtype, row.version);
             !modules.empty()) {
    job.recompute = Recompute::kSelective;
    job.recompute_modules = modules;
  } else {
    job.recompute = row.stack.recompute;
    row.undeclared.emplace_back("recompute");
  }
}

void set_tuning(TrainingRow& row, const RowCells& get) {
  const std::string tuning = get.text("finetune");
  if (tuning == "pretrain" || tuning == "sft" || tuning.empty()) return;
  if (tuning != "lora" && tuning != "qlora")
    throw NoData(fmt::format("'{}' tuning is not modelled", tuning));
  row.job.tuning = tuning == "lora" ? Tuning::kLora : Tuning::kQlora;
  row.job.lora_targets = row.stack.lora_targets;
  row.undeclared.emplace_back("lora_targets");
  const auto rank = get.whole("lora_rank");
  if (!rank) row.undeclared.emplace_back("lora_rank");
  row.job.lora_rank = static_cast<int>(rank.value_or(row.stack.lora_rank));
}

void set_precision(TrainingRow& row, const RowCells& get) {
  TrainingPrecision& p = row.job.precision;
  p = training_precision(row.dtype, row.stack);
  const std::string note = get.text("precision_note"), flags = get.text("flags");
  const std::optional<StatedScript> script = stated_script(row.source, row.reference);
  if (script && script->fp8_parameters && p.compute == Dtype::kFp8) p.fp8_parameters = true;
  if (has(note, "fp8 all-gather") || has(flags, "--persistent-quants")) p.fp8_parameters = true;
  if (has(note, "32x32 blocks")) p.recipe = Fp8Recipe::kMx;
  // Composer's mp_mode DEFAULT reduces in fp32, PURE in bf16.
  if (has(flags, "mp_mode=PURE")) p.gradients = Dtype::kBf16;
  if (has(flags, "8-bit")) p.moments = Dtype::kInt8;
}

void set_habits(TrainingRow& row, const RowCells& get) {
  TrainingJob& job = row.job;
  const std::string flags = get.text("flags"), offload = get.text("offload");
  job.flash = row.stack.tuned && !has(flags, "no FlashAttention");
  row.attention = has(flags, "FA3") ? "flash3" : has(flags, "FlashAttention-2") ? "flash2" : "";
  if (const auto script = stated_script(row.source, row.reference))
    row.attention = script->attention;
  job.dropout = row.stack.dropout;
  job.fused_cross_entropy =
      row.stack.fused_cross_entropy || has(flags, "Liger") || has(flags, "Chunked Cross Entropy");
  job.offload_optimizer = has(offload, "opt");
  job.offload_activations = has(offload, "activations") || has(offload, "residual");
  const std::string compile = get.text("compile");
  row.compiled = compile.empty() ? row.stack.compiled : compile == "1";
}

void set_measured(TrainingRow& row, const RowCells& get) {
  if (const auto s = get.number("iteration_s"); s && *s > 0) row.iteration = Seconds(*s);
  if (const auto r = get.number("tokens_per_s_per_gpu"); r && *r > 0) row.tokens_per_s_per_gpu = r;
  row.memory_gb = get.number("memory_gb");
  row.memory_kind = get.text("memory_kind");
  row.oom = get.text("oom") == "1";
}

// The reason why a row is not trusted (docs/reference/training.md, section Rows that are not
// trusted); empty: it is trusted.
std::string why_distrusted(const TrainingRow& row, const RowCells& get) {
  if (row.framework == "DeepSpeed ZeRO-3" && row.source == "narayanan2021")
    return "ZeRO-3 as Narayanan et al. ran it: far below what others measure";
  if (row.source == "nemo-automodel" && row.job.tuning != Tuning::kFull)
    return "AutoModel's LoRA rows";
  if (row.source == "torchtune" && get.text("flags") == "Baseline")
    return "sequences are not packed: shorter than stated";
  if (row.source == "torchtune" && row.gpu == "rtx-a6000")
    return "faster than an RTX A6000 can be: probably an RTX 6000 Ada";
  if (row.source == "megatron-bridge" && row.model_id == "qwen3-30b-a3b" && row.gpu == "h100-sxm")
    return "changes between releases at one mapping";
  // Ten sequences of 8,192 tokens keep some 700 GB of activations in 48 layers. The authors' report
  // of such a run (pytorch.org/blog, MXFP8 Training for MoEs) has one sequence and full
  // recomputation.
  if (row.source == "torchtitan" && row.model_id == "llama-4-scout" &&
      row.job.recompute == Recompute::kNone)
    return "its batch does not fit the memory without recomputation";
  if (row.model_id.starts_with("gpt-oss") && row.dtype == "bf16") return "gpt-oss in bf16";
  if (has(get.text("note"), "disagree")) return get.text("note");
  return "";
}

void read_job(TrainingRow& row, const RowCells& get, const Catalog& catalog,
              const TrainingModels& models) {
  const Gpu gpu = catalog.gpu(row.gpu_name);
  row.gpu = gpu.id;
  row.model = models.at(row.model_id);
  if (row.stack.name.empty()) throw NoData(fmt::format("no stack is known as '{}'", row.framework));
  const auto seq = get.whole("seq_len");
  if (row.gpus < 1) throw NoData("the row does not state its GPUs");
  if (!seq) throw NoData("the row does not state its sequence length");
  row.job.seq = *seq;
  StatedNode stated =
      stated_node(catalog, gpu, get.text("interconnect"), get.whole("gpus_per_node", 0), row.gpus);
  row.node = std::move(stated.node);
  if (!stated.network_stated && row.gpus > row.node.gpu_count) row.undeclared.push_back("network");
  set_precision(row, get);
  set_plan(row, get);
  set_tuning(row, get);
  const Stated batch{get.whole("micro_batch"), get.whole("global_batch"), get.whole("grad_accum")};
  set_batch(row, batch);
  set_recompute(row, get);
  set_habits(row, get);
  if (const std::string why = why_distrusted(row, get); !why.empty()) row.distrusted = why;
  if (!row.stack.name.empty()) set_stack_defaults(row.job, training_stack(row.stack.name).memory);
  check_job(row.model, row.job);
  if (!row.iteration && row.tokens_per_s_per_gpu) {
    const double tokens = static_cast<double>(row.job.global_batch * row.job.seq);
    row.iteration = Seconds(tokens / (*row.tokens_per_s_per_gpu * row.gpus));
  }
  row.usable = row.iteration && !get.text("tp").empty() && !get.text("pp").empty();
  row.complete = row.usable && batch.count() >= 2;
}

}  // namespace

bool TrainingRow::declares(std::string_view field) const {
  return std::find(undeclared.begin(), undeclared.end(), field) == undeclared.end();
}

std::string TrainingRow::name() const {
  return fmt::format("{}:{} {} on {} {}", table, line, model_id, gpus, gpu_name);
}

std::vector<TrainingRow> read_training_rows(const std::filesystem::path& dir,
                                            const Catalog& catalog, const Bundle& bundle) {
  const TrainingModels models(dir, bundle);
  std::vector<TrainingRow> rows;
  CsvReader csv(dir / "iteration.csv");
  const RowCells get(csv);
  const std::vector<TrainingStackProfile> stacks = load_training_stacks(bundle);
  while (csv.next()) {
    TrainingRow row;
    row.line = csv.line();
    row.source = get.text("source");
    row.reference = get.text("source_ref");
    row.model_id = get.text("model");
    row.gpu_name = get.text("gpu");
    row.dtype = get.text("dtype");
    row.framework = get.text("framework");
    const std::optional<StatedScript> script = stated_script(row.source, row.reference);
    row.version = script && !script->container.empty() ? std::string(script->container)
                                                       : get.text("framework_version");
    row.stack = stack_defaults(stacks, row.framework, row.version, row.dtype);
    row.release = stated_release(row.version);
    row.torch = stated_torch(row.version);
    row.gpus = get.whole("n_gpus", 0);
    set_measured(row, get);
    try {
      read_job(row, get, catalog, models);
    } catch (const std::runtime_error& e) {
      row.refused = e.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string attention_of(const TrainingRow& row, const Gpu& gpu) {
  if (!row.attention.empty()) return row.attention;
  const std::string& of_framework = row.stack.attention;
  for (const AttentionBackend& b : attention_backends())
    if (b.name == of_framework && b.kernels.contains(gpu.architecture.kernels)) return of_framework;
  return attention_of(training_stack(row.stack.name), row.software(), gpu);
}

TrainingPrecision training_precision(std::string_view dtype, const StackDefaults& stack) {
  TrainingPrecision p;
  p.gradients = stack.gradients;
  p.master_weights = stack.master_weights;
  p.moments = stack.moments;
  if (dtype == "fp16") {
    p.compute = p.activations = Dtype::kFp16;
  } else if (dtype == "fp8" || dtype == "mxfp8") {
    p.compute = Dtype::kFp8;
    p.recipe = dtype == "mxfp8"        ? Fp8Recipe::kMx
               : stack.current_scaling ? Fp8Recipe::kCurrent
                                       : Fp8Recipe::kTensor;
  } else if (dtype == "nvfp4") {
    p.compute = Dtype::kFp4;
  } else if (dtype != "bf16") {
    throw InputError(fmt::format("expected bf16, fp16, fp8, mxfp8 or nvfp4, got '{}'", dtype));
  }
  return p;
}

}  // namespace orrery
