#include "orrery/validate/energy/llm_power_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/scenario/kinds/steady/steady_load.h"
#include "orrery/scenario/kinds/steady/wave_energy.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/validate/rows/row_cells.h"

namespace orrery {
namespace {

constexpr const char* kServicesFile = "llm_energy.csv";

using Names = std::pair<std::string_view, std::string_view>;

// GPUs as the sources call them.
constexpr std::array<Names, 8> kGpus = {{{"H100", "h100-sxm"},
                                         {"H100 80GB HBM3", "h100-sxm"},
                                         {"B200", "b200-sxm"},
                                         {"A100", "a100-40g-sxm"},
                                         {"A100-SXM4-40GB", "a100-40g-sxm"},
                                         {"A40", "a40"},
                                         {"V100", "v100-32g-sxm"},
                                         {"GH200", "gh200-96gb"}}};

// Models that are another model of the catalog but for their weights.
constexpr std::array<Names, 19> kModels = {
    {{"lmsys/vicuna-7B", "llama-7b"},
     {"BAIR/koala-7b", "llama-7b"},
     {"tatsu-lab/alpaca-7B", "llama-7b"},
     {"metaai/llama-7B", "llama-7b"},
     {"project-baize/baize-v2-7B", "llama-7b"},
     {"Neutralzz/BiLLa-7B-SFT", "llama-7b"},
     {"h2oai/h2ogpt-gm-oasst1-en-2048-open-llama-7b-preview-300bt-v2", "llama-7b"},
     {"metaai/Llama-2-7b-chat-hf", "llama-2-7b"},
     {"BAIR/koala-13b", "llama-13b"},
     {"lmsys/vicuna-13B", "llama-13b"},
     {"camel-ai/CAMEL-13B-Combined-Data", "llama-13b"},
     {"nomic-ai/gpt4all-13b-snoozy", "llama-13b"},
     {"FreedomIntelligence/phoenix-inst-chat-7b", "bloom-7b1"},
     {"google/codegemma-1.1-2b", "gemma-2b"},
     {"google/codegemma-7b", "gemma-7b"},
     {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
     {"meta-llama/Meta-Llama-3.1-70B-Instruct", "llama-3.1-70b"},
     {"meta-llama/Meta-Llama-3.1-405B-Instruct", "llama-3.1-405b"},
     {"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "llama-4-maverick"}}};

// Prompt tokens that a request of the task computes.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kPrompts = {
    {{"lm-arena-chat", 400},
     {"gpqa", 250},
     {"chat", 200},
     {"code", 150},
     {"chat-concise", 60},
     {"instruct", 60},
     {"instruct-concise", 60},
     {"synthetic", 0}}};                   // stated
constexpr std::int64_t kPromptAlone = 60;  // where requests are computed one at a time

template <typename Table>
auto found(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto& t) { return t.first == name; });
}

std::string engine_of(std::string_view source, std::string_view framework) {
  if (source == "ml.energy v3") return "vllm-2025";
  if (source == "ml.energy v2") return "vllm-2024";
  if (source == "ml.energy v1") return "transformers";
  if (source == "LLM-Inference-Bench fig 16") {
    if (framework == "vLLM") return "vllm-2024";
    if (framework == "TensorRT-LLM") return "trtllm-2024";
    if (framework == "Deepspeed-MII") return "deepspeed-mii";
  }
  throw NoData(fmt::format("power of one service is not what rows of {} hold", source));
}

// The model's name as a question states it.
std::string model_of(const std::string& name) {
  if (const auto other = found(kModels, name); other != kModels.end())
    return std::string(other->second);
  return name;
}

// The question of a row, and what was measured.
LlmPowerRow row_of(const CsvReader& csv, const Catalog& catalog) {
  const RowCells get(csv);
  LlmPowerRow r;
  r.name = fmt::format("{}:{}", kServicesFile, csv.line());
  r.source = get.text("source");
  const std::string task = get.text("task");
  r.engine = engine_of(r.source, get.text("framework"));
  const auto gpu = found(kGpus, get.text("gpu"));
  if (gpu == kGpus.end()) throw NoData(fmt::format("no GPU is called {}", get.text("gpu")));
  r.gpu = catalog.gpu(std::string(gpu->second));
  const auto prompt = found(kPrompts, task);
  if (prompt == kPrompts.end())
    throw NoData(fmt::format("requests of {} hold images or sound", task));
  const bool stated = task == "synthetic", alone = r.source == "ml.energy v1";
  const std::int64_t isl = stated  ? get.whole("isl_mean", 1)
                           : alone ? kPromptAlone
                                   : prompt->second;
  const std::string name = get.text("model");
  const std::string model = model_of(name);
  r.group = fmt::format("{} {}", r.gpu.id, name);
  const auto output = get.number("osl_mean"), batch = get.number("avg_batch");
  const auto rate = get.number("throughput_tok_s"), watts = get.number("avg_power_w");
  const auto joules = get.number("energy_j_per_token");
  if (!output || !batch || !rate || !watts || !joules)
    throw NoData("the row states no length, batch, rate or power");
  const int gpus = get.whole("n_gpus", 1), ep = get.whole("ep", 1), pp = get.whole("pp", 1);
  r.gpus = gpus;
  r.power = Watts(*watts / gpus);
  r.per_token = Joules(*joules);
  const double outputs = *output, all = stated ? outputs + real(isl) : outputs;
  r.tokens = all * *batch;
  r.time = Seconds(r.tokens / *rate);
  ScenarioKeys& k = r.keys;
  k.set("model", model);
  k.set("hardware.gpu", r.gpu.id);
  k.set("engine.profile", r.engine);
  k.set("parallel.tp", ep > 1 ? gpus : get.whole("tp", 1));
  if (ep > 1) k.set("parallel.ep", gpus);
  if (pp > 1) k.set("parallel.pp", pp);
  const std::string precision = get.text("precision");
  if (precision == "float16") k.set("precision.dtype", "fp16");
  const bool in_name =
      model == name && (name.find("FP8") != std::string::npos || name.starts_with("deepseek-ai/"));
  if (precision == "fp8" && !in_name) k.set("precision.quantization", "fp8");
  k.set("workload.batch", std::max<std::int64_t>(1, std::llround(*batch)));
  k.set("workload.isl", isl);
  k.set("workload.osl", std::max<std::int64_t>(2, std::llround(outputs)));
  if (r.source == "ml.energy v2") {
    k.set_engine("execution.frontend_in_process", "true");
    k.set_engine("memory.utilization", "0.95");
  }
  if (const auto most = get.number("max_num_seqs"); most && !stated)
    k.set_engine("scheduler.max_num_seqs", std::to_string(std::llround(*most)));
  if (!stated) {
    k.set("workload.closed_loop", "true");
    k.set("workload.equal_lengths", "false");
  }
  return r;
}

// Adds the work of a wave that the prediction gives, scaled to the requests of the measured one.
void predict(LlmPowerRow& row, Facts& facts, double batch) {
  // A front end in the engine's process has its own fit, which `work` is without.
  const bool in_process = !row.keys.engine_text("execution.frontend_in_process").empty();
  ScenarioKeys keys = row.keys;
  if (in_process) keys.set_engine("execution.frontend_in_process", "false");
  const Scenario scenario = keys.scenario().points.front();
  const SteadyQuestion& load = scenario.as<SteadyQuestion>();
  const auto served = served_model_of(facts, scenario);
  const std::int64_t capacity = capacity_of(load, *served, planned_length(scenario, load));
  if (capacity < 1) throw NoData("the model does not fit");
  const ClosedFormResult result = closed_form_of(load, *served, capacity, false);
  const double waves = batch / real(result.running);
  row.work = work_of_wave(result).scaled(waves);
  if (in_process) {
    const ClosedFormResult::Computed& c = result.computed;
    const double decodes = real(load.osl - 1);
    row.rank_steps = (c.prompt_steps + decodes) * waves * real(served->plan.tp);
    row.sequence_steps = batch * (1 + decodes);
  }
  row.time_error = std::hypot(result.decode_step.total.shared, result.decode_step.total.own);
}

}  // namespace

std::vector<LlmPowerRow> read_llm_power(const std::filesystem::path& dir, const Bundle& bundle,
                                        ValidationReport& report) {
  std::vector<LlmPowerRow> rows;
  if (!has_table(dir / kServicesFile, report)) return rows;
  Facts facts(bundle);
  CsvReader csv(dir / kServicesFile);
  const int batch = csv.column("avg_batch");
  std::map<std::string, RefusedRow> refused;
  while (csv.next()) {
    try {
      LlmPowerRow row = row_of(csv, facts.catalog());
      predict(row, facts, csv.number(batch));
      rows.push_back(std::move(row));
    } catch (const std::runtime_error& e) {  // InputError, NoData, Infeasible
      RefusedRow& why = refused[e.what()];
      if (why.row.empty()) {
        why = {fmt::format("{}:{}", kServicesFile, csv.line()), e.what(), 1};
      } else {
        ++why.rows;
      }
    }
  }
  for (auto& [why, row] : refused) report.refused.push_back(std::move(row));
  return rows;
}

}  // namespace orrery
