// The settings with which InferenceX starts the servers that it measures and drives its clients.
//
// The source is its public scripts (github.com/SemiAnalysisAI/InferenceX, benchmarks/). The list
// holds the settings that differ from the engine's defaults and decide which steps run. Scripts
// change; their state on the day of a measurement follows from their history and from
// perf-changelog.yaml.
//
//   vLLM     gpt-oss               graphs up to 2,048 tokens; on Hopper a 16-bit KV cache
//            Llama 3.1 70B, B200   cudagraph_mode FULL_DECODE_ONLY: steps with prompts are eager
//            MiniMax-M2.5 fp8      H100: at most 256 sequences
//                                  B200 until 2026-04-02: expert parallel (`EP_SIZE -ge 1`), KV
//                                  of 16 bits, 95 % of memory; vLLM 0.17, whose graphs end at 512
//                                  tokens there (by the rows; those of 0.19 at 1,024)
//                                  Since then (B300: 2026-04-17): steps of two prompts' tokens
//                                  (max-num-batched-tokens 2 * ISL), graphs up to 2,048 (pull
//                                  requests 947, 1054)
//            MiniMax-M2.5 fp4      the same steps and graphs since 2026-04-08 (996); until then
//                                  at most as many sequences as users
//            both                  VLLM_FLOAT32_MATMUL_PRECISION=high since 2026-04-21 (1068, 1069,
//                                  1106)
//            Kimi-K2.5             at most as many sequences as users; fp4: steps of two prompts'
//                                  tokens, graphs since 2026-04-16 (1047)
//   SGLang   DeepSeek-R1, Qwen3.5  chunks of 32,768 tokens (DeepSeek in fp8 on four GPUs 8,192, in
//                                  fp4 16,384; Qwen3.5 in fp8 on B300 16,384); on Blackwell
//                                  scheduler-recv-interval 10, with 16 users and more 30 (but for
//                                  DeepSeek in fp8 on four GPUs, and Qwen3.5 in fp8 on B300)
//            GLM-5                 on B200 chunks of 32,768, in fp4 recv-interval 10; on H200 a
//                                  client of its own sends five requests a user and warms nothing
//                                  up
//            all                   on Blackwell, but for Qwen3.5 in bf16, a KV cache of fp8; 82 to
//                                  95 % of memory; stream-interval 10 (DeepSeek in fp4 or on H200)
//                                  or 30, but for GLM-5 on H200
//   TRT-LLM  all                   whole prompts (no enable_chunked_prefill); all but gpt-oss: KV
//                                  of 8 bits
//            Llama 3.1 70B         steps of ISL + OSL tokens (max-model-len); 1,024 in and out on
//                                  fewer than 8 GPUs: prompts wait 20 decode steps for a step that
//                                  is 90 % full (batch_wait_timeout_iters)
//            DeepSeek-R1           80 % of memory (H200: 75); steps of max(4096, ISL + users + 64)
//                                  tokens; with attention data parallelism prompts wait for each
//                                  other, 60 steps at most
//            DeepSeek-R1 fp8, B200 between 64 and 255 users with 1,024 in and out prompts wait 40
//                                  decode steps for a step that is 80 % full; there, with 8,192
//                                  in, and from 128 users with 8,192 out, prompts are replayed in
//                                  pieces
//            gpt-oss               steps of 20,000 tokens; 85 % of memory
//
// Its clients send ten requests a user, if not said otherwise, all users at once, and count them
// all. Until 2026-01-26 the
// server had just started (EngineProfile::Execution::cold); since then two requests a user go
// before (--num-warmups, pull request 480; the day is that of its announced merge, within ten), all
// of which are copies of the first prompt (benchmark_serving.py): SGLang still meets the shapes of
// the others for the first time (EngineProfile::Execution::new_shapes; issue 870 has the 99th
// percentiles that show it). SGLang's images of 2025 compile FlashInfer's merging kernel when a
// prompt is continued for the first time, which takes 20 s (sgl-project/sglang/issues/7339).
// Rows without a day repeat dated ones, most to two decimals: they count as of the first day that
// the table gives for their engine and model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/hardware/gpu.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {

struct InferencexRun {
  std::string precision;          // of the checkpoint: fp8, fp4, ...
  std::string day;                // of the measurement, 2026-04-21; empty: not stated
  std::int64_t isl = 0, osl = 0;  // nominal
};

// Whether the authors of AIConfigurator made a run themselves: rows of the
// dump "gap-analysis", which also repeats runs of InferenceX. These are of models that InferenceX
// serves, with 1,024 or 8,192 tokens.
bool is_aiconfigurators_own(std::string_view dump, std::string_view model,
                            const InferencexRun& run);

// Sets what AIConfigurator's generator sets for the engine of such a run, whose prompts and answers
// are all equally long, so that users stay in step as far as the engine lets them
// (github.com/ai-dynamo/aiconfigurator, src/aiconfigurator). Returns the
// number of different prompts of its client; 0: all prompts differ.
//
//   TRT-LLM  generator/rule_plugin/trtllm.rule and extra_engine_args.1.0.0rc3.yaml.j2: steps of
//            users + ISL + 1,500 tokens, whole prompts, 80 % of the free memory, no reuse of blocks
//            eval/benchmarks/genai_perf_runner.py: ten requests a user after two that do not count,
//            twelve prompts a user
//   vLLM     cli_args.0.12.0.j2 sets nothing that decides which steps run. AIPerf, the client,
//            repeats 100 prompts (its --num-dataset-entries; bench_run.sh.j2 leaves the default).
//            The rates show it: 64 users of Llama-3.1-8B on one H200 get 118,000 prompt tokens a
//            second, 90 % of what its fp8 tensor cores can compute, besides their answers
//   SGLang   generator/rule_plugin/sglang.rule and cli_args.0.5.6.post2.j2: mixed chunks, at most
//            as many sequences as users, steps that take prompts until these have ISL + 1,500
//            tokens (max-prefill-tokens; chunks are the engine's own)
std::int64_t set_as_aiconfigurator(std::string_view engine, ScenarioKeys& keys);

// Sets what InferenceX's script sets for the engine. REQUIRES: `keys` has the model, layout and
// users of the run. Whatever depends on a day that is not stated keeps the engine's default.
void set_as_inferencex(std::string_view engine, const Gpu& gpu, const InferencexRun& run,
                       ScenarioKeys& keys);

}  // namespace orrery
