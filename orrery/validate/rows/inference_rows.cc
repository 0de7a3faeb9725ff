#include "orrery/validate/rows/inference_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "orrery/base/fit.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/report/seen_groups.h"
#include "orrery/validate/rows/inferencex.h"
#include "orrery/workload/ops/format.h"

namespace orrery {
namespace {

using Get = std::function<std::string(const char*)>;

// Requests that a benchmark's client sends, and those before that it does not count.
constexpr std::int64_t kRequestsPerUser = 10, kWarmupsPerUser = 2;
// Sources whose engines were tuned for what is measured, by the beginnings of their names.
constexpr std::string_view kTunedSources[] = {"aiconfigurator-", "inferencex-", "mlperf-",
                                              "nvidia-nim-", "trtllm-"};

double number_of(const std::string& text) {
  double v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

// "0.19.0" -> {0, 19}; {-1, -1} where there is no number.
std::pair<int, int> version_of(std::string_view text) {
  int major = -1, minor = -1;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '.')
    std::from_chars(first.ptr + 1, end, minor);
  return minor < 0 ? std::pair(-1, -1) : std::pair(major, minor);
}

// Number formats as the tables spell them.
void set_precision(ScenarioKeys& keys, const std::string& precision, const std::string& kv,
                   const std::string& engine) {
  if (precision == "fp16" || precision == "bf16" || precision == "fp32") {
    keys.set("precision.dtype", precision);
    keys.set("precision.quantization", precision);
  } else if (precision == "fp8" || precision == "fp8_block") {
    keys.set("precision.quantization", precision);
  } else if (precision == "int8") {
    keys.set("precision.quantization", engine.starts_with("llama-cpp") ? "q8_0" : "int8_wo");
  } else if (precision.starts_with("q4_") ||
             (precision.starts_with("int4") && engine.starts_with("llama-cpp"))) {
    keys.set("precision.quantization", "q4_k");
  } else if (precision.starts_with("int4")) {
    keys.set("precision.quantization", "int4_wo");
  } else if (precision != "fp4") {  // fp4: as the checkpoint is stored
    throw NoData(fmt::format("precision '{}' has no format here", precision));
  }
  if (kv == "fp16" || kv == "bf16" || kv == "fp8") keys.set("precision.kv_cache_dtype", kv);
  // TensorRT-LLM's fp8 checkpoints keep an fp8 KV cache (its documentation's benchmarks).
  if (kv.empty() && precision == "fp8" && engine.starts_with("trtllm"))
    keys.set("precision.kv_cache_dtype", "fp8");
}

// Reads the columns that all tables share. Throws NoData or InputError with the reason if the
// program cannot predict the row.
MeasuredRow common(const Get& get, std::string_view table, const Catalog& catalog) {
  MeasuredRow r;
  r.table = table;
  r.reference = get("source_ref");  // the line is added by the reader
  r.source = get("source");
  r.system = get("system");
  r.framework = get("framework");
  r.family = get("family");
  r.group = get("group");
  const Gpu gpu = catalog.gpu(r.system);
  r.vendor = gpu.vendor;
  r.engine = engine_of_row(r.framework, get("version"), get("source"), gpu);
  r.keys.set("model", get("model"));
  r.keys.set("hardware.gpu", gpu.id);
  r.keys.set("engine.profile", r.engine);
  // InferenceX and NVIDIA measure engines that they have tuned, as MLPerf's submitters do.
  const bool tuned = std::any_of(std::begin(kTunedSources), std::end(kTunedSources),
                                 [&r](std::string_view s) { return r.source.starts_with(s); });
  r.keys.set("engine.setup", tuned ? "tuned" : "default");
  set_precision(r.keys, get("precision"), get("kv_precision"), r.engine);
  const std::string tp = get("tp"), pp = get("pp"), gpus = get("n_gpus");
  if (r.engine.starts_with(
          "llama-cpp")) {  // several devices: a split by layers, one sequence passes through them
    r.keys.set("parallel.tp", 1);
    r.keys.set("parallel.pp", static_cast<std::int64_t>(gpus.empty() ? 1 : number_of(gpus)));
  } else {
    if (tp.empty()) throw NoData("the row does not state its tensor parallelism");
    r.keys.set("parallel.tp", static_cast<std::int64_t>(number_of(tp)));
    r.keys.set("parallel.pp", static_cast<std::int64_t>(pp.empty() ? 1 : number_of(pp)));
  }
  return r;
}

void add_figure(MeasuredRow& r, const Get& get, const char* column, const char* metric,
                const char* answer_name) {
  const std::string text = get(column);
  const double v = number_of(text);
  if (!text.empty() && v > 0) r.figures.push_back({metric, answer_name, v});
}

void set_fixed_batch(ScenarioKeys& keys, const Get& get) {
  keys.set("workload.batch", static_cast<std::int64_t>(number_of(get("batch"))));
  keys.set("workload.isl", static_cast<std::int64_t>(number_of(get("isl"))));
  keys.set("workload.osl",
           std::max<std::int64_t>(1, static_cast<std::int64_t>(number_of(get("osl")))));
}

MeasuredRow single_request(const Get& get, const Catalog& catalog) {
  MeasuredRow r = common(get, "single_request", catalog);
  set_fixed_batch(r.keys, get);
  add_figure(r, get, "prefill_ms", "prefill", "prefill_time");
  if (r.keys.number("workload.osl") > 1) add_figure(r, get, "tpot_ms", "decode", "tpot");
  return r;
}

MeasuredRow offline_throughput(const Get& get, const Catalog& catalog) {
  MeasuredRow r = common(get, "offline_throughput", catalog);
  const Gpu gpu = catalog.gpu(r.system);
  if (get("batch").empty()) throw NoData("the row does not state its batch");
  set_fixed_batch(r.keys, get);
  // llama-bench: "file column Batch Size 16 is the prompt chunk".
  const std::string note = get("note");
  constexpr std::string_view kChunk = "file column Batch Size ";
  if (const auto at = note.find(kChunk); at != std::string::npos) {
    const auto chunk = static_cast<std::int64_t>(number_of(note.substr(at + kChunk.size())));
    if (chunk > 0) {
      r.keys.set_engine("scheduler.max_num_batched_tokens", std::to_string(chunk));
      r.keys.set_engine("scheduler.pipelined_tokens", std::to_string(chunk));
    }
  }
  // LLM-Inference-Bench's runs of vLLM on Intel's GPUs time the process's first batch: the same
  // question takes 16 to 20 s longer than in a warm process, whatever its lengths, because kernels
  // are compiled.
  if (r.source.starts_with("argonne") && r.framework == "vllm" && gpu.vendor == "intel")
    r.keys.set_engine("execution.cold", "true");
  add_figure(r, get, "output_tok_s", "throughput", "output_throughput");
  return r;
}

// The first day that a table gives for an engine and a model.
using FirstDays = std::map<std::pair<std::string, std::string>, std::string>;

FirstDays first_days(const std::filesystem::path& table) {
  FirstDays days;
  CsvReader csv(table);
  const auto framework = csv.find("framework"), model = csv.find("model"),
             measured = csv.find("measured");
  if (!framework || !model || !measured) return days;
  while (csv.next()) {
    const std::string day(csv.text(*measured));
    if (day.empty()) continue;
    std::string& first = days[{std::string(csv.text(*framework)), std::string(csv.text(*model))}];
    if (first.empty() || day < first) first = day;
  }
  return days;
}

MeasuredRow serving_steady(const Get& get, const Catalog& catalog, const FirstDays& days) {
  if (get("mode") != "agg")
    throw NoData("prefill and decode on different workers: simulated, not estimated");
  MeasuredRow r = common(get, "serving_steady", catalog);
  ScenarioKeys& keys = r.keys;
  const std::string model = keys.text("model");
  // Where the source names the formats of projections and experts, they decide; gpt-oss is listed
  // under nvfp4 but is released, and run, with mxfp4 experts only.
  const bool own = model.starts_with("gpt-oss"), has_experts = r.family.starts_with("moe");
  // The fp8 checkpoints of these families have block scales, although the source states fp8 for
  // some.
  bool blocks = false;
  for (const char* family : {"deepseek", "glm-5", "minimax", "qwen3"})
    blocks |= model.starts_with(family);
  const auto format = [&](const std::string& name) {
    return blocks && name == "fp8" ? std::string("fp8_block") : name;
  };
  if (const std::string gemm = format(get("gemm_quant")); !own && parse_format(gemm))
    keys.set("precision.quantization", gemm);
  if (const std::string moe = format(get("moe_quant")); !own && has_experts && parse_format(moe))
    keys.set("precision.moe_quantization", moe);
  // gpt-oss on data-centre Blackwell: experts' activations in mxfp8 (InferenceX sets vLLM's
  // FLASHINFER_MOE_MXFP4_MXFP8).
  const Gpu gpu = catalog.gpu(r.system);
  if (own && gpu.architecture.engine_class == "blackwell")
    keys.set("precision.moe_quantization", "mxfp4_fp8");
  // Quantised models of this source run with an fp8 KV cache: many rows have more sequences than
  // fit in a 16-bit cache (70B tp1 at 64 users, MiniMax tp2 at 512).
  const std::string precision = get("precision");
  if (r.framework == "vllm" && (precision == "fp8" || precision == "fp4"))
    keys.set("precision.kv_cache_dtype", "fp8");
  if (get("isl").empty() || get("osl").empty() || get("concurrency").empty())
    throw NoData("the row does not state its lengths or concurrency");
  // InferenceX draws lengths uniformly between 80 % and 100 % of the nominal one. The authors of
  // AIConfigurator fix them.
  const bool nominal = get("length_kind") == "nominal";
  InferencexRun run{get("precision"), get("measured"),
                    static_cast<std::int64_t>(number_of(get("isl"))),
                    static_cast<std::int64_t>(number_of(get("osl")))};
  const bool own_run = is_aiconfigurators_own(get("dump"), model, run);
  const bool scattered = nominal && !own_run;
  const auto users = static_cast<std::int64_t>(number_of(get("concurrency")));
  const bool in_step = nominal && !scattered;
  const double mean = scattered ? 0.9 : 1.0;
  const auto length = [&](const char* column, std::int64_t least) {
    return std::max(least, static_cast<std::int64_t>(number_of(get(column)) * mean));
  };
  keys.set("workload.closed_loop", "true");
  keys.set("workload.equal_lengths", in_step ? "true" : "false");
  keys.set("workload.isl", length("isl", 1));
  keys.set("workload.osl", length("osl", 2));
  keys.set("workload.batch", users);
  for (const auto& [column, key] : {std::pair("dp", "parallel.dp"), {"moe_ep", "parallel.ep"}}) {
    if (!get(column).empty()) keys.set(key, static_cast<std::int64_t>(number_of(get(column))));
  }
  if (scattered) {
    const auto first = days.find({r.framework, model});
    if (run.day.empty() && first != days.end()) run.day = first->second;
    set_as_inferencex(r.engine, gpu, run, keys);
  }
  if (own_run) r.prompt_pool = set_as_aiconfigurator(r.engine, keys);
  // The loads of experts with real prompts follow a power law. The exponent is that of the measured
  // tables.
  if (has_experts) keys.set("workload.expert_skew", "1.01");
  add_figure(r, get, "ttft_ms", "ttft", "ttft");
  add_figure(r, get, "tpot_ms", "tpot", "tpot");
  return r;
}

// Lengths of that mean, exponentially distributed (ten equal parts): conversations of which
// vLLM's benchmark takes a sample, cut at 1,024 tokens.
std::string conversation_lengths(double mean) {
  std::string out;
  for (int i = 0; i < 10; ++i)
    out += fmt::format("{}{}", i ? " | " : "",
                       std::max(1LL, std::llround(-mean * 1.035 * std::log(1 - (i + 0.5) / 10))));
  return out;
}

// Requests that arrive at a rate.
MeasuredRow serving_rate(const Get& get, const Catalog& catalog) {
  if (!get("lora_adapters").empty()) throw NoData("S-LoRA's engines have no profile");
  MeasuredRow r = common(get, "serving_rate", catalog);
  if (get("isl").empty() || get("num_requests").empty())
    throw NoData("the row does not state its lengths");
  if (get("request_rate") == "inf") {
    r.keys.set("load.arrivals", "at-once");
  } else {
    r.keys.set("load.rate", get("request_rate"));
  }
  r.keys.set("load.requests", static_cast<std::int64_t>(number_of(get("num_requests"))));
  r.keys.set("load.isl", conversation_lengths(number_of(get("isl"))));
  r.keys.set("load.osl", conversation_lengths(number_of(get("osl"))));
  add_figure(r, get, "ttft_ms", "ttft", "ttft");
  add_figure(r, get, "tpot_ms", "tpot", "tpot");
  add_figure(r, get, "tpot_p99_ms", "tpot p99", "tpot_p99");
  add_figure(r, get, "req_s", "throughput", "request_throughput");
  return r;
}

}  // namespace

std::string engine_of_row(std::string_view framework, std::string_view version,
                          std::string_view source, const Gpu& gpu) {
  const auto [major, minor] = version_of(version);
  const bool nvidia = gpu.vendor == "nvidia";
  const std::string vendor_suffix = nvidia                  ? ""
                                    : gpu.vendor == "amd"   ? "-rocm"
                                    : gpu.vendor == "intel" ? "-xpu"
                                                            : "?";
  if (framework == "vllm") {
    if (source == "splitwise-sim") return "vllm-2023";
    const bool dated = version.starts_with("mid-2024") || version.starts_with("2024");
    if (!nvidia && vendor_suffix != "?") return "vllm-2024" + vendor_suffix;
    if (dated || (major == 0 && minor >= 3 && minor <= 7)) return "vllm-2024";
    if (major == 0 && minor >= 0 && minor <= 2) return "vllm-2023";
    if (major == 0 && minor >= 8 && minor <= 13) return "vllm-2025";
    return "vllm";
  }
  if (framework == "trtllm") {
    const bool dated = version.starts_with("mid-2024") || version.starts_with("2024");
    return dated || (major == 0 && minor < 13) ? "trtllm-2024" : "trtllm";
  }
  if (framework == "llama.cpp") {
    if (nvidia) return "llama-cpp";
    if (gpu.vendor == "amd") return "llama-cpp-rocm";
    if (gpu.vendor == "intel") return "llama-cpp-sycl";
    if (gpu.vendor == "apple") return "llama-cpp-metal";
  }
  if (framework == "tinychat-awq") return "tinychat";
  if (framework == "deepspeed" && gpu.vendor == "intel") return "deepspeed-gaudi";
  for (const char* known : {"sglang", "transformers", "deepspeed-mii", "lmdeploy", "exllamav2"}) {
    if (framework == known) return known;
  }
  throw NoData(fmt::format("no engine profile describes '{}' on {}", framework, gpu.id));
}

ScenarioKeys simulated_service(const MeasuredRow& row) {
  ScenarioKeys keys = row.keys;
  keys.erase_group("workload");
  const std::string skew = row.keys.text("workload.expert_skew");
  if (!skew.empty()) keys.set("workload.expert_skew", skew);
  const std::int64_t users = row.keys.number("workload.batch");
  const bool equal = row.keys.text("workload.equal_lengths") == "true";
  const auto lengths = [&](const char* key) {
    if (equal) return row.keys.text(key);
    const auto mean = static_cast<double>(row.keys.number(key));
    return fmt::format("uniform({}, {})", std::max<std::int64_t>(1, std::llround(mean * 8 / 9)),
                       std::llround(mean * 10 / 9));
  };
  keys.set("load.arrivals", "at-once");
  keys.set("load.max_concurrency", users);
  keys.set("load.requests",
           row.keys.number("workload.requests_per_user", kRequestsPerUser) * users);
  if (row.prompt_pool > 0) {
    keys.set("load.requests", (kRequestsPerUser + kWarmupsPerUser) * users);
    keys.set("load.warmup", kWarmupsPerUser * users);
    keys.set("load.shared_prefix", row.keys.number("workload.isl") - 1);
    keys.set("load.prefix_groups", row.prompt_pool);
  }
  keys.set("load.isl", lengths("workload.isl"));
  keys.set("load.osl", lengths("workload.osl"));
  return keys;
}

ValidationRow report_row(const MeasuredRow& row, const MeasuredFigure& figure,
                         const Metric& predicted, const ScenarioKeys& asked) {
  return {{{"table", row.table},
           {"metric", figure.metric},
           {"system", row.system},
           {"vendor", row.vendor},
           {"framework", row.framework},
           {"engine", row.engine},
           {"family", row.family},
           {"fitted", fits_engines(row.group) ? "yes" : "no"},
           {"seen", seen_group(row.group) ? "yes" : "no"}},
          row.reference,
          figure.value,
          predicted.value,
          predicted.low50,
          predicted.high50,
          predicted.low90,
          predicted.high90,
          predicted.origin,
          asked.yaml(),
          row.source,
          {},
          figure.answer_name};
}

bool fits_engines(std::string_view group) { return !leave_out_by_hash(group, 3); }

void read_inference_rows(const std::filesystem::path& dir, std::string_view table,
                         const Catalog& catalog, std::vector<MeasuredRow>& rows,
                         std::vector<RefusedRow>& refused) {
  const std::filesystem::path file = dir / (std::string(table) + ".csv");
  const FirstDays days = table == "serving_steady" ? first_days(file) : FirstDays();
  const auto read_row = [&](const Get& get) {
    return table == "single_request"       ? single_request(get, catalog)
           : table == "offline_throughput" ? offline_throughput(get, catalog)
           : table == "serving_rate"       ? serving_rate(get, catalog)
                                           : serving_steady(get, catalog, days);
  };
  CsvReader csv(file);
  const Get get = [&csv](const char* name) -> std::string {
    const auto column = csv.find(name);
    return column ? std::string(csv.text(*column)) : std::string();
  };
  while (csv.next()) {
    const std::string reference = fmt::format("{}:{} {}", table, csv.line(), get("source_ref"));
    try {
      if (const std::string why = get("suspect"); !why.empty())
        throw NoData(fmt::format("marked suspect by the data set: {}", why));
      // Closed forms predict these fixed batches.
      if (table == "offline_throughput" && get("scenario") != "static batch")
        throw NoData("a saturated or dataset-driven run: simulated, not estimated");
      MeasuredRow row = read_row(get);
      row.reference = reference;
      if (row.figures.empty()) throw NoData("the row states none of the figures that are judged");
      rows.push_back(std::move(row));
    } catch (const std::runtime_error& e) {
      refused.push_back({reference, e.what()});
    }
  }
}

}  // namespace orrery
