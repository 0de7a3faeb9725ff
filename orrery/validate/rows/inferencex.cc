#include "orrery/validate/rows/inferencex.h"

#include <algorithm>

namespace orrery {
namespace {

// Steps of two prompts' tokens, graphs for all of a step of short ones.
void two_prompts_a_step(const InferencexRun& run, ScenarioKeys& keys) {
  keys.set_engine("scheduler.max_num_batched_tokens", std::to_string(2 * run.isl));
  keys.set_engine("execution.graph_tokens", "2048");
}

void set_vllm(const Gpu& gpu, const InferencexRun& run, ScenarioKeys& keys) {
  const std::string model = keys.text("model");
  const bool blackwell = gpu.architecture.engine_class == "blackwell", fp8 = run.precision == "fp8";
  const auto since = [&run](std::string_view day) { return run.day >= day; };
  if (model.starts_with("gpt-oss")) {
    keys.set_engine("execution.graph_tokens", "2048");
    if (!blackwell) keys.erase("precision.kv_cache_dtype");
  }
  const bool minimax = model.starts_with("minimax"), kimi = model.starts_with("kimi");
  if (minimax && !blackwell) keys.set_engine("scheduler.max_num_seqs", "256");
  if (kimi || (minimax && !fp8 && !since("2026-04-08")))
    keys.set_engine("scheduler.max_num_seqs", keys.text("workload.batch"));
  if (!blackwell) return;
  if (model.starts_with("llama-3.1-70b")) keys.set_engine("execution.prefill_graphs", "false");
  if (kimi && run.precision == "fp4" && since("2026-04-16")) two_prompts_a_step(run, keys);
  if (!minimax) return;
  const bool b300 = gpu.id.starts_with("b300");
  if (since(b300 ? "2026-04-17" : fp8 ? "2026-04-03" : "2026-04-08")) {
    two_prompts_a_step(run, keys);
  } else if (fp8 && !b300 && !run.day.empty()) {
    if (keys.number("parallel.dp") == 1) keys.set("parallel.ep", keys.text("parallel.tp"));
    keys.erase("precision.kv_cache_dtype");
    keys.set_engine("memory.utilization", "0.95");
    keys.set_engine("execution.graph_tokens", "512");
  }
  if (since("2026-04-21")) keys.set_engine("kernels.tf32", "true");
}

// Flags that leave the steps as they are: the KV cache, memory, and messages of several tokens.
void set_sglang_memory(bool blackwell, bool four, const InferencexRun& run, ScenarioKeys& keys) {
  const std::string model = keys.text("model");
  const bool fp4 = run.precision == "fp4", glm = model.starts_with("glm-5");
  if (blackwell && run.precision != "bf16") keys.set("precision.kv_cache_dtype", "fp8");
  const char* share = four               ? "0.95"
                      : glm              ? (fp4 ? "0.9" : "0.85")
                      : fp4 && blackwell ? "0.85"
                                         : "0.82";
  keys.set_engine("memory.utilization", share);
  const bool often = !blackwell || (fp4 && !glm);
  if (blackwell || !glm) keys.set_engine("execution.stream_interval", often ? "10" : "30");
}

void set_sglang(const Gpu& gpu, const InferencexRun& run, ScenarioKeys& keys) {
  const std::string model = keys.text("model");
  const bool blackwell = gpu.architecture.engine_class == "blackwell", fp8 = run.precision == "fp8";
  const auto users = keys.number("workload.batch");
  const bool qwen = model.starts_with("qwen3.5"), deepseek = model.starts_with("deepseek"),
             glm = model.starts_with("glm-5");
  if (qwen || deepseek || glm)
    set_sglang_memory(blackwell, deepseek && fp8 && keys.number("parallel.tp") == 4, run, keys);
  if (qwen || deepseek) {
    const bool b300_qwen = qwen && gpu.id.starts_with("b300") && fp8;
    const bool four = deepseek && fp8 && keys.number("parallel.tp") == 4;
    const bool half = b300_qwen || (deepseek && !fp8);
    keys.set_engine("scheduler.max_num_batched_tokens", half ? "16384" : four ? "8192" : "32768");
    const bool often = users < 16 || four || b300_qwen;
    if (blackwell) keys.set_engine("scheduler.recv_interval", often ? "10" : "30");
  }
  if (blackwell && glm) keys.set_engine("scheduler.max_num_batched_tokens", "32768");
  if (blackwell && glm && !fp8) keys.set_engine("scheduler.recv_interval", "10");
  if (!blackwell && glm) {  // a client of its own
    keys.set("workload.requests_per_user", 5);
    keys.set_engine("execution.cold", "true");
  }
}

// DeepSeek-R1's scripts, dsr1_fp8_b200_trt.sh and its neighbours.
void set_trtllm_deepseek(const Gpu& gpu, const InferencexRun& run, ScenarioKeys& keys) {
  const auto users = keys.number("workload.batch");
  const bool blackwell = gpu.architecture.engine_class == "blackwell";
  keys.set("precision.kv_cache_dtype", "fp8");
  keys.set_engine("memory.utilization", blackwell ? "0.8" : "0.75");
  const std::string tokens =
      std::to_string(std::max<std::int64_t>(4096, (users + run.isl + 64 + 63) / 64 * 64));
  keys.set_engine("scheduler.max_num_batched_tokens", tokens);
  if (keys.number("parallel.dp") > 1) keys.set_engine("scheduler.balance_timeout", "60");
  if (!blackwell || run.precision != "fp8" || users >= 256) return;
  const bool long_answers = run.osl > run.isl, long_prompts = run.isl > run.osl;
  if (users < (long_answers ? 128 : 64)) return;
  keys.set_engine("execution.prefill_graphs", "true");
  keys.set_engine("execution.graph_tokens", tokens);
  if (long_answers || long_prompts) return;
  keys.set_engine("scheduler.batch_wait_steps", "40");
  keys.set_engine("scheduler.batch_wait_ratio", "0.8");
}

void set_trtllm(const Gpu& gpu, const InferencexRun& run, ScenarioKeys& keys) {
  const std::string model = keys.text("model");
  keys.set_engine("scheduler.chunked_prefill", "false");
  if (model.starts_with("gpt-oss")) {
    keys.set_engine("scheduler.max_num_batched_tokens", "20000");
    keys.set_engine("memory.utilization", "0.85");
  }
  if (model.starts_with("deepseek")) set_trtllm_deepseek(gpu, run, keys);
  if (!model.starts_with("llama-3.1-70b")) return;
  keys.set("precision.kv_cache_dtype", "fp8");
  keys.set_engine("scheduler.max_num_batched_tokens", std::to_string(run.isl + run.osl));
  if (run.isl != 1024 || run.osl != 1024 || keys.number("parallel.tp") >= 8) return;
  keys.set_engine("scheduler.batch_wait_steps", "20");
  keys.set_engine("scheduler.batch_wait_ratio", "0.9");
}

}  // namespace

bool is_aiconfigurators_own(std::string_view dump, std::string_view model,
                            const InferencexRun& run) {
  constexpr std::string_view kModels[] = {"deepseek-r1",   "glm-5",   "gpt-oss", "kimi-k2",
                                          "llama-3.1-70b", "minimax", "qwen3.5"};
  const auto of_inferencex = [](std::int64_t tokens) { return tokens == 1024 || tokens == 8192; };
  const bool served = std::any_of(std::begin(kModels), std::end(kModels),
                                  [model](std::string_view m) { return model.starts_with(m); });
  return dump == "gap-analysis" && !(served && of_inferencex(run.isl) && of_inferencex(run.osl));
}

std::int64_t set_as_aiconfigurator(std::string_view engine, ScenarioKeys& keys) {
  constexpr std::int64_t kAiPerfPrompts = 100;
  if (engine == "sglang") {
    keys.set_engine("scheduler.mixed_chunk", "true");
    keys.set_engine("scheduler.max_prefill_tokens",
                    std::to_string(keys.number("workload.isl") + 1500));
    keys.set_engine("scheduler.max_num_seqs", keys.text("workload.batch"));
    return 0;
  }
  if (engine != "trtllm") return kAiPerfPrompts;
  const std::int64_t dp = std::max<std::int64_t>(1, keys.number("parallel.dp"));
  const std::int64_t users = (keys.number("workload.batch") + dp - 1) / dp;
  keys.set_engine("scheduler.max_num_batched_tokens",
                  std::to_string(users + keys.number("workload.isl") + 1500));
  keys.set_engine("scheduler.chunked_prefill", "false");
  keys.set_engine("memory.utilization", "0.8");
  return 0;
}

void set_as_inferencex(std::string_view engine, const Gpu& gpu, const InferencexRun& run,
                       ScenarioKeys& keys) {
  const bool cold = !run.day.empty() && run.day < "2026-01-27";
  if (cold) keys.set_engine("execution.cold", "true");
  if (engine == "sglang" && cold) keys.set_engine("execution.continued_start_up", "20 s");
  if (engine == "sglang" && !cold) keys.set_engine("execution.new_shapes", "true");
  if (engine == "vllm") set_vllm(gpu, run, keys);
  if (engine == "sglang") set_sglang(gpu, run, keys);
  if (engine == "trtllm") set_trtllm(gpu, run, keys);
}

}  // namespace orrery
