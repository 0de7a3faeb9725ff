#include "orrery/validate/rows/inferencex.h"

#include <algorithm>

#include "orrery/workload/plan/engine.h"

namespace orrery {
namespace {

// Steps of two prompts' tokens, graphs for all of a step of short ones.
void two_prompts_a_step(const InferencexRun& run, Scenario& s) {
  set_engine(s, "scheduler.max_num_batched_tokens", std::to_string(2 * run.isl));
  set_engine(s, "execution.graph_tokens", "2048");
}

void set_vllm(const Gpu& gpu, const InferencexRun& run, Scenario& s) {
  const bool blackwell = engine_gpu_class(gpu) == "blackwell", fp8 = run.precision == "fp8";
  const auto since = [&run](std::string_view day) { return run.day >= day; };
  if (s.model.starts_with("gpt-oss")) {
    set_engine(s, "execution.graph_tokens", "2048");
    if (!blackwell) s.precision.kv_cache_dtype.clear();
  }
  const bool minimax = s.model.starts_with("minimax"), kimi = s.model.starts_with("kimi");
  if (minimax && !blackwell) set_engine(s, "scheduler.max_num_seqs", "256");
  if (kimi || (minimax && !fp8 && !since("2026-04-08")))
    set_engine(s, "scheduler.max_num_seqs", std::to_string(s.workload.batch.at(0)));
  if (!blackwell) return;
  if (s.model.starts_with("llama-3.1-70b")) set_engine(s, "execution.prefill_graphs", "false");
  if (kimi && run.precision == "fp4" && since("2026-04-16")) two_prompts_a_step(run, s);
  if (!minimax) return;
  const bool b300 = gpu.id.starts_with("b300");
  if (since(b300 ? "2026-04-17" : fp8 ? "2026-04-03" : "2026-04-08")) {
    two_prompts_a_step(run, s);
  } else if (fp8 && !b300 && !run.day.empty()) {
    if (s.parallel.dp == 1) s.parallel.ep = static_cast<int>(s.parallel.tp.at(0));
    s.precision.kv_cache_dtype.clear();
    set_engine(s, "memory.utilization", "0.95");
    set_engine(s, "execution.graph_tokens", "512");
  }
  if (since("2026-04-21")) set_engine(s, "kernels.tf32", "true");
}

void set_sglang(const Gpu& gpu, const InferencexRun& run, Scenario& s) {
  const bool blackwell = engine_gpu_class(gpu) == "blackwell";
  const auto users = s.workload.batch.at(0);
  const bool qwen = s.model.starts_with("qwen3.5"), four = s.parallel.tp.at(0) == 4;
  if (qwen || s.model.starts_with("deepseek")) {
    const bool b300_qwen = qwen && gpu.id.starts_with("b300") && run.precision == "fp8";
    set_engine(s, "scheduler.max_num_batched_tokens",
               b300_qwen ? "16384"
               : four    ? "8192"
                         : "32768");
    if (blackwell) set_engine(s, "scheduler.recv_interval", users >= 16 && !four ? "30" : "10");
  }
  if (blackwell && s.model.starts_with("glm-5"))
    set_engine(s, "scheduler.max_num_batched_tokens", "32768");
}

void set_trtllm(const InferencexRun& run, Scenario& s) {
  if (s.model.starts_with("gpt-oss")) set_engine(s, "scheduler.max_num_batched_tokens", "20000");
  if (!s.model.starts_with("deepseek")) return;
  const std::int64_t prompt_and_users = (s.workload.batch.at(0) + run.isl + 64 + 63) / 64 * 64;
  set_engine(s, "scheduler.max_num_batched_tokens",
             std::to_string(std::max<std::int64_t>(4096, prompt_and_users)));
  if (s.parallel.dp > 1) set_engine(s, "scheduler.balance_timeout", "60");
}

}  // namespace

void set_engine(Scenario& scenario, const std::string& key, const std::string& value) {
  set_path(scenario.engine.overrides, key, scalar_node(value, "engine." + key));
}

void set_as_inferencex(std::string_view engine, const Gpu& gpu, const InferencexRun& run,
                       Scenario& scenario) {
  if (!run.day.empty() && run.day < "2026-01-27") set_engine(scenario, "execution.cold", "true");
  if (engine == "vllm") set_vllm(gpu, run, scenario);
  if (engine == "sglang") set_sglang(gpu, run, scenario);
  if (engine == "trtllm") set_trtllm(run, scenario);
}

}  // namespace orrery
