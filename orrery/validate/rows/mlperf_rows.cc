#include "orrery/validate/rows/mlperf_rows.h"

#include <fmt/format.h>

#include <array>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/validate/rows/row_cells.h"

namespace orrery {
namespace {

// The dates on which the results of the rounds were published, in June and November.
std::optional<double> published(std::string_view round) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRounds = {
      {{"v3.0", "2023-06"},
       {"v3.1", "2023-11"},
       {"v4.0", "2024-06"},
       {"v4.1", "2024-11"},
       {"v5.0", "2025-06"},
       {"v5.1", "2025-11"}}};
  for (const auto& [name, date] : kRounds)
    if (name == round) return stack_release_date(date);
  return std::nullopt;
}

// The number in a text such as "full block 21 layers"; 0 if it has none.
int layers_named(const std::string& recompute) {
  const std::size_t digit = recompute.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::stoi(recompute.substr(digit, 3));
}

void read_plan(TrainingRow& row, const RowCells& get) {
  TrainingPlan& p = row.job.plan;
  if (get.text("tp").empty() || get.text("pp").empty())
    throw NoData("the submission's layout is not known");
  read_layout(p, get, row.gpus);
  if (row.model.layers.size() % (p.pp * p.vp) != 0)
    p.split = uneven_split(row.model.layers.size(), p.pp * p.vp);
  p.sequence_parallel = p.tp > 1;
  p.tp_overlap = p.tp > 1 && get.text("tp_comm_overlap") != "0";
  p.zero = 1;
}

void read_row(TrainingRow& row, const RowCells& get, const Catalog& catalog,
              const TrainingModels& models) {
  const Gpu gpu = catalog.gpu(row.gpu_name);
  row.gpu = gpu.id;
  row.model = models.at(row.model_id);
  const auto step = get.number("step_s");
  if (!step || *step <= 0) throw NoData("no steady step is known");
  if (get.text("step_source").find("evaluation") != std::string::npos)
    throw NoData("evaluations are inside the steps");
  if (row.dtype.empty()) {
    row.dtype = "fp8";  // the submissions of these benchmarks on GPUs that have it
    row.undeclared.emplace_back("dtype");
  }
  row.dtype = row.dtype.substr(0, row.dtype.find('|'));
  StatedNode stated =
      stated_node(catalog, gpu, get.text("network"), get.whole("gpus_per_node", 0), row.gpus);
  row.node = std::move(stated.node);
  TrainingJob& job = row.job;
  job.precision = training_precision(row.dtype, row.stack);
  job.precision.fp8_parameters =
      get.text("fp8_params") == "1" && job.precision.compute != Dtype::kBf16;
  read_plan(row, get);
  job.seq = get.whole("seq_len", 8192);
  job.global_batch = get.whole("global_batch", 1);
  // A job with fewer sequences than data-parallel ranks has context parallelism, which its
  // configuration does not state.
  if (job.global_batch < job.plan.dp)
    throw NoData(fmt::format("{} sequences for dp {}", job.global_batch, job.plan.dp));
  const std::int64_t of_rank = job.global_batch / job.plan.dp;
  const int accumulated = get.whole("grad_accum", 0);
  job.micro_batch =
      get.whole("micro_batch", accumulated > 0 ? static_cast<int>(of_rank) / accumulated : 1);
  if (job.micro_batch < 1 || of_rank % job.micro_batch != 0) job.micro_batch = 1;
  if (get.text("finetune") == "lora") {
    // MLPerf's reference has adapters of rank 16 on the projections of attention.
    job.tuning = Tuning::kLora;
    job.lora_rank = get.whole("lora_rank", 16);
    job.lora_targets = {"q", "k", "v", "o"};
    // The submitters' configurations are NVIDIA's (llama2_70b_lora/implementations, conf/
    // megatron_gpt_peft_tuning_config.yaml, in mlcommons/training_results_v4.0 to v5.1): fp8_params
    // follows fp8. That of v5.1 does not name it; the logs of v5.0 have 82 GiB on GB200 with cp 8
    // and 134 with cp 2, which leaves 65 for the weights: 64 in fp8.
    if (job.precision.compute == Dtype::kFp8) job.precision.fp8_parameters = true;
  }
  const std::string recompute = get.text("recompute");
  if (recompute.find("full") != std::string::npos) {
    job.recompute = Recompute::kFull;
    job.recompute_layers = layers_named(recompute);
  } else if (recompute.find("selective") != std::string::npos) {
    job.recompute = Recompute::kSelective;
  }
  job.fused_cross_entropy = true;
  row.iteration = Seconds(*step);
  if (!row.stack.name.empty()) set_stack_defaults(job, training_stack(row.stack.name).memory);
  check_job(row.model, job);
  row.complete = row.usable = true;
}

}  // namespace

std::vector<TrainingRow> read_mlperf_rows(const std::filesystem::path& dir, const Catalog& catalog,
                                          const Bundle& bundle) {
  const TrainingModels models(dir, bundle);
  std::vector<TrainingRow> rows;
  CsvReader csv(dir / "mlperf_training.csv");
  const RowCells get(csv);
  const StackDefaults nemo =
      stack_defaults(load_training_stacks(bundle), "NeMo (Megatron-Core)", "2024", "bf16");
  while (csv.next()) {
    TrainingRow row;
    row.table = "mlperf_training.csv";
    row.line = csv.line();
    row.source = "mlperf";
    row.reference = get.text("round") + " " + get.text("submitter") + " " + get.text("system");
    row.model_id = get.text("model");
    row.gpu_name = get.text("gpu");
    row.gpus = get.whole("n_gpus", 1);
    row.dtype = get.text("dtype");
    row.framework = get.text("framework");
    // All of these benchmarks run NeMo, or Megatron with AMD's and Dell's configurations.
    row.stack = nemo;
    row.version = get.text("round");
    row.release = published(row.version);
    try {
      read_row(row, get, catalog, models);
    } catch (const std::runtime_error& e) {
      row.refused = e.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace orrery
