// A serving engine as a set of constants: which kernels it runs, what its host side costs, how it
// fills memory.
//
// The stacks that train are orrery/training/iteration/stacks.h's.
//
// Profiles are catalog/engines/<id>.yaml. A number there is a documented default of the engine, or
// fitted by `orrery fit engines` on measured rows of that engine: those are kept apart in
// catalog/engines/fitted/<id>.yaml, which is laid over the first (its `calibration` says on what).
// Users override any key
// (`--set engine.scheduler.max_num_seqs=64`).
//
// The host model (orrery/step/step_model.h uses it): a step takes
//   max(gpu work + gaps, launches) + host_per_step + host_per_sequence * sequences   host not
//   overlapped max(gpu work + gaps, launches, host_per_step + host_per_sequence * sequences) host
//   overlapped
// where launches = launch * kernels and gaps = kernel_gap * kernels for eager steps, graph_launch
// and none for steps replayed from a graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

struct EngineProfile {
  std::string id, name, version, calibration;
  std::vector<std::string> aliases, sources;
  std::vector<std::string> vendors;  // whose GPUs it runs on; empty: any

  // Whose measured kernels serve each family ("vllm", "sglang", "trtllm").
  struct Kernels {
    std::string gemm = "vllm", attention = "vllm", moe = "vllm", mla = "vllm",
                linear_attention = "vllm";
    std::string collectives = "vllm";
    // The engine's kernels take this many times as long as the measured class, by what bounds them.
    double compute_factor = 1, memory_factor = 1;
    // Kernels that keep too little in flight read no more than this a second and compute unit: what
    // the GPU's bandwidth exceeds it by multiplies memory_factor. 0: no limit.
    BytesPerSecond unit_bandwidth;
    double prefill_attention_factor = 1;  // prefill attention alone (older engines)
    // Routed experts of a step that carries a prefill (many tokens an expert) take this many times
    // the measured class's time: an older version's kernels, unequal ranks.
    double moe_prefill_factor = 1;
    // Decode attention of a step that also carries a prefill takes (heads per KV head)^this as long
    // as alone: FlashAttention 2 runs both in one call, which neither splits the keys of a sequence
    // nor packs heads that share a KV head. On Hopper and data-centre Blackwell other kernels do,
    // and it does not apply. 0.5 from data/layers attention_mixed (factors of 2.0 at 4 heads a KV
    // head, 2.8 at 8).
    double mixed_decode_exponent = 0;
    // Products that a model wants in fp32 run on tensor cores in tf32 (vLLM's
    // VLLM_FLOAT32_MATMUL_PRECISION=high; PyTorch's default is not to).
    bool tf32 = false;
  } kernels;

  struct Execution {
    bool decode_graphs = true;  // decode steps are replayed from captured graphs
    // Steps that carry a prefill are replayed too, in pieces: all but attention (vLLM V1).
    bool prefill_graphs = false;
    std::int64_t graph_tokens = 512;  // largest captured batch, tokens
    // At most so many for each sequence of max_num_seqs and each draft, unless graph_tokens is
    // asked for (vLLM: 2: servers for few sequences run their prompts eagerly). 0: no such limit.
    std::int64_t graph_tokens_per_sequence = 0;
    // Replayed steps of at most so many tokens run shared experts on a stream of their own, beside
    // the routed ones (StepModel). 0: none.
    std::int64_t shared_experts_stream_tokens = 0;
    bool fused = true;  // elementwise work marked fusible is folded into its neighbours
    // CPU time of an operator of an eager step: its kernels' launches and the code around them. One
    // kernel's launch is 5 us; in engines of Python an operator takes 20 to 70 us, and a layer's
    // routed experts 0.4 to 2.9 ms beside it (host_per_moe_layer; docs/serving-accuracy.md).
    Seconds launch = microseconds(5);
    Seconds kernel_gap = microseconds(0);    // GPU idle between two kernels of an eager step
    Seconds graph_launch = microseconds(0);  // CPU time to launch a captured graph, each layer
    Seconds host_per_step = microseconds(0);
    Seconds host_per_sequence = microseconds(0);
    Seconds host_per_layer =
        microseconds(0);  // framework code around a layer's launches, eager steps only
    // The same of routed experts, beside it: routing, permutation, formats, the kernels' Python.
    Seconds host_per_moe_layer = microseconds(0);
    bool host_overlapped =
        false;  // scheduling of the next step hides behind this one (asynchronous)
    // Least time of an eager step that carries a prefill.
    Seconds prefill_floor = microseconds(0);
    // Once a request, before it is queued: HTTP, and for each token of its prompt text to parse and
    // tokenise.
    Seconds request_overhead = microseconds(0);
    Seconds overhead_per_prompt_token = microseconds(0);
    // A cold engine's first step that carries a prompt takes so much longer: kernels compiled,
    // tuned and loaded at their first use. Engines are warm unless `cold` is said: measurements
    // that count their first requests.
    Seconds start_up = microseconds(0);
    bool cold = false;
    // The front end (API server, detokeniser) is one process: it admits one request after the
    // other, this long each, and a step's tokens take it this long each; a step does not end before
    // the one before is delivered (tokens do not pile up: SGLang's first tokens would be late by
    // half of the request, which they are not).
    Seconds frontend_per_request = microseconds(0);
    Seconds frontend_per_token = microseconds(0);
    // Beam search (orrery/serving/cluster/beam_search.h): each request of a round, one after the other.
    Seconds beam_overhead = microseconds(0);
    // Host times are those of a host of the Hopper era (2022 and later); CPUs that stand beside
    // older GPUs take this many times as long.
    double older_host_factor = 1.5;
    Seconds collective_latency =
        microseconds(0);  // beside the network's own time, per collective and log2(ranks)
  } execution;

  struct Memory {
    double utilization = 0.9;  // share of the device's memory that the engine may fill
    bool paged = true;
    std::int64_t block_size = 16;  // tokens
    // Layers with a sliding window have blocks of their own, freed when they are outside of it
    // (orrery/memory/kv_groups.h); false: all layers hold the whole context.
    bool hybrid_kv_cache = false;
    // These blocks are a pool of their own, so many for one of the others (SGLang's
    // swa-full-tokens-ratio); 0: one pool for all.
    double window_share = 0;
    Bytes context = gigabytes(0.6);  // driver context and libraries, per device
    Bytes graphs = gigabytes(0.3);   // captured graphs, per device
    Bytes workspace = gigabytes(0.1);
  } memory;

  struct Scheduler {
    std::string policy = "vllm";   // the batch scheduler that simulations run
    std::string order = "fcfs";    // which of the waiting goes first
    bool async_scheduling = true;  // the next step is planned while one runs
    bool prefix_caching = true;
    bool continuous = true;  // false: a static batch runs until its last member is done
    bool chunked_prefill = true;
    std::int64_t long_prefill_token_threshold = 0;  // most tokens of one prompt a step; 0: no limit
    bool mixed_chunk = false;                       // SGLang: decodes beside prompts
    // SGLang: newcomers are looked for after a prompt, and else every so many decode steps.
    std::int64_t recv_interval = 1;
    // TensorRT-LLM with attention data parallelism: prompts wait until every rank has one, at most
    // so many steps (orrery/serving/engine/engine.h). 0: they do not wait.
    std::int64_t balance_timeout = 0;
    std::int64_t max_num_batched_tokens = 8192;
    std::int64_t max_num_seqs = 1024;
    // Smaller defaults on GPUs with less memory than `small_gpu_below` or of an older generation
    // than Hopper (vLLM); 0: the same everywhere.
    Bytes small_gpu_below;
    std::int64_t small_gpu_batched_tokens = 2048;
    std::int64_t small_gpu_num_seqs = 256;
  } scheduler;

  // Own relative error of a composed step beside those of its kernels. The default is that of
  // profiles that nothing was fitted for: what documented defaults were off by where rows showed it
  // (docs/composition.md).
  double step_error = 0.25;
  // Of routed experts beside that of their kernels: how unequally prompts load them, and which of
  // its kernels the engine picks. Shared by all layers.
  double experts_error = 0;
};

// Whether the engine runs on the GPUs of its vendor.
bool runs_on(const EngineProfile& engine, const Gpu& gpu);

// Declares every parameter once; `engine` keys of a scenario and catalog files read through it.
void declare(Fields& fields, EngineProfile& engine);

// By id or alias, with its fitted constants unless `with_fit` is false. InputError naming the
// nearest.
EngineProfile load_engine(std::string_view id, const Bundle& bundle, bool with_fit = true);
// The same on the GPUs of one class: what the engine runs differently there
// (catalog/engines/by-gpu/<id>-<class>.yaml) and what was fitted there (fitted/<id>-<class>.yaml)
// is laid over it.
EngineProfile load_engine(std::string_view id, const Gpu& gpu, const Bundle& bundle,
                          bool with_fit = true);
// "hopper" (H100, H200, ...), "blackwell" (B200, B300, GB200: data centre only); empty: others,
// which have no files of their own.
std::string_view engine_gpu_class(const Gpu& gpu);
std::vector<std::string> engine_ids(const Bundle& bundle);

// The tokens that a decode step of `tokens` runs with: padded up to the next captured graph size
// (1, 2, 4, then every 8 up to 256, every 16 above; vLLM V1), or unchanged above the largest or
// without graphs.
std::int64_t padded_tokens(const EngineProfile& engine, std::int64_t tokens);

}  // namespace orrery
