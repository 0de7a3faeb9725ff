// A serving engine as a set of constants: the kernels it runs, the time its host side takes, how it
// fills memory, and how it fills a step.
//
// Profiles are catalog/engines/<id>.yaml. A number there is either a documented default of the
// engine, whose source the file names, or fitted by `orrery fit engines` or `orrery fit services`.
// Fitted numbers are kept in catalog/engines/fitted/<id>.yaml, which is read after the profile; its
// key `calibration` says on which measurements. Users override any key
// (`--set engine.scheduler.max_num_seqs=64`).
//
// orrery/step/step_model.h states how a step follows from `kernels` and `execution`,
// orrery/memory/memory_model.h how `memory` is used, docs/serving.md what the schedulers do.
// Training stacks are described in orrery/workload/plan/training_stack.h.
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
  std::vector<std::string> vendors;  // vendors of the GPUs it runs on; empty: any

  struct Kernels {
    // The framework whose measured kernels serve each family: "vllm", "sglang" or "trtllm".
    std::string gemm = "vllm", attention = "vllm", moe = "vllm", mla = "vllm",
                linear_attention = "vllm", sparse_attention = "vllm";
    // The framework whose measured kernels serve products in fp8 (one scale for a tensor or a row)
    // and nvfp4. Empty: that of `gemm`. A sweep that scales activations in kernels of their own, as
    // TensorRT-LLM's does, is not what an engine runs whose checkpoint has static scales.
    std::string scaled_gemm;
    std::string collectives = "vllm";
    // Time of the engine's kernels relative to the measured ones, for compute-bound and for
    // memory-bound kernels.
    double compute_factor = 1, memory_factor = 1;
    // Highest memory bandwidth that the engine's kernels reach on one compute unit. memory_factor
    // is multiplied by the ratio of the GPU's bandwidth to that of all its units. 0: no limit.
    BytesPerSecond unit_bandwidth;
    // Time of prefill attention relative to the measured kernels. Above 1 for older engines.
    double prefill_attention_factor = 1;
    // Time of routed experts relative to the measured kernels in steps that carry a prompt. Above 1
    // for older kernels and for ranks with unequal load.
    double moe_prefill_factor = 1;
    // Decode attention in a step that carries a prompt takes (query heads per KV head)^exponent
    // times as long as in a step of decodes. FlashAttention 2 computes both in one call, in which
    // it neither splits the keys of a sequence nor packs heads that share a KV head. FlashAttention
    // 3 and TensorRT-LLM's kernels, on Hopper and data-centre Blackwell, do not lose this time. 0.5
    // was read from measured calls: factors of 2.0 at 4 heads per KV head and 2.8 at 8
    // (docs/lab/2026-11-serving-accuracy.md).
    double mixed_decode_exponent = 0;
    // Products that a model asks for in fp32 are computed in tf32 by tensor cores. vLLM does so
    // with VLLM_FLOAT32_MATMUL_PRECISION=high; PyTorch does not by default.
    bool tf32 = false;
  } kernels;

  struct Execution {
    bool decode_graphs = true;  // decode steps are replayed from captured CUDA graphs
    // Steps that carry a prompt are replayed in pieces, with attention between them (vLLM V1).
    bool prefill_graphs = false;
    std::int64_t graph_tokens = 512;  // largest captured batch, tokens
    // Captured batch sizes in rising order, as sizes and runs: "1, 2, 4, 8-256+8, 256+16" stands
    // for 1, 2, 4, every 8th from 8 to 256 and every 16th above. A replayed batch is padded to the
    // next of them, but not beyond graph_tokens. Empty: every size is captured.
    std::string graph_sizes;
    // graph_tokens is at most this for each sequence of max_num_seqs (and each of its drafts),
    // unless the user sets graph_tokens. vLLM's value is 2, so that servers for few sequences run
    // their prompts without graphs. 0: no such limit.
    std::int64_t graph_tokens_per_sequence = 0;
    // Replayed steps of at most this many tokens run shared experts on a second CUDA stream,
    // concurrently with the routed experts (StepModel). 0: none do.
    std::int64_t shared_experts_stream_tokens = 0;
    bool fused = true;  // elementwise ops marked fusible run inside their neighbours
    // CPU time of one operator of an eager step: the launches of its kernels and the code around
    // them. One launch takes about 5 us. In engines written in Python an operator takes 20 to 70 us
    // (docs/lab/2026-11-serving-accuracy.md).
    Seconds launch = microseconds(5);
    Seconds kernel_gap = microseconds(0);    // GPU idle time between two kernels of an eager step
    Seconds graph_launch = microseconds(0);  // CPU time of replaying a graph, for each layer
    Seconds host_per_step = microseconds(0);
    Seconds host_per_sequence = microseconds(0);
    // CPU time of the framework for each layer of an eager step, in addition to its launches.
    Seconds host_per_layer = microseconds(0);
    // The same for the routed experts of a layer: routing, permutation, formats. 0.4 to 2.9 ms in
    // engines written in Python (docs/lab/2026-11-serving-accuracy.md).
    Seconds host_per_moe_layer = microseconds(0);
    // The next step is scheduled while the GPU computes this one (asynchronous scheduling).
    bool host_overlapped = false;
    Seconds prefill_floor = microseconds(0);  // least time of an eager step that carries a prompt
    // Time before a request is queued: HTTP once, and parsing and tokenising for each prompt token.
    Seconds request_overhead = microseconds(0);
    Seconds overhead_per_prompt_token = microseconds(0);
    // Additional time of a cold engine's first step that carries a prompt, in which kernels are
    // compiled, tuned and loaded. It counts only if `cold` is set: for measurements that include
    // the first requests of a server.
    Seconds start_up = microseconds(0);
    bool cold = false;
    // The front end (API server and detokeniser) is one process. It admits one request after the
    // other and delivers one token after the other, in these times. The engine does not wait for
    // it: tokens queue, first tokens among them (orrery/serving/engine/delivery.h).
    Seconds frontend_per_request = microseconds(0);
    Seconds frontend_per_token = microseconds(0);
    // Tokens of a sequence that are delivered together, after its first (SGLang's stream-interval).
    std::int64_t stream_interval = 1;
    // Time of the front end for a token, on average.
    Seconds delivery() const { return frontend_per_token / static_cast<double>(stream_interval); }
    // Beam search (docs/serving.md): time in which the front end forms one request of a round.
    Seconds beam_overhead = microseconds(0);
    // Factor on host times for hosts of GPUs older than Hopper and of other vendors. The times
    // above are those of a host of 2022 or later.
    double older_host_factor = 1.5;
    // Time of each collective in addition to the network's, multiplied by log2(ranks).
    Seconds collective_latency = microseconds(0);
  } execution;

  struct Memory {
    double utilization = 0.9;  // share of the device's memory that the engine may fill, 0 to 1
    bool paged = true;
    std::int64_t block_size = 16;  // tokens
    // KV blocks of layers with a sliding window are freed once they are outside of it
    // (orrery/memory/kv_groups.h). False: every layer keeps the whole context.
    bool hybrid_kv_cache = false;
    // Blocks of the KV pool for layers with a sliding window, relative to the pool of the other
    // layers (SGLang's swa-full-tokens-ratio). 0: one pool for all layers.
    double window_share = 0;
    Bytes context = gigabytes(0.6);  // driver context and libraries, each device
    Bytes graphs = gigabytes(0.3);   // captured graphs, each device
    Bytes workspace = gigabytes(0.1);
  } memory;

  struct Scheduler {
    std::string policy = "vllm";   // batch scheduler, a name of schedulers.def
    std::string order = "fcfs";    // order of the queue: fcfs, priority, sjf or lpm
    bool async_scheduling = true;  // a step is planned while the one before it runs
    bool prefix_caching = true;
    bool continuous = true;  // false: a static batch runs until its last member is done
    bool chunked_prefill = true;
    std::int64_t long_prefill_token_threshold = 0;  // most tokens of one prompt a step; 0: no limit
    bool mixed_chunk = false;  // SGLang: steps that carry prompts also carry decodes
    // SGLang: number of decode steps after which the queue is read, if no step carried a prompt.
    std::int64_t recv_interval = 1;
    // TensorRT-LLM with attention data parallelism: most steps for which prompts wait until every
    // rank has one (orrery/serving/engine/engine.h). 0: they do not wait.
    std::int64_t balance_timeout = 0;
    std::int64_t max_num_batched_tokens = 8192;
    std::int64_t max_num_seqs = 1024;
    // Defaults of vLLM on GPUs with less memory than small_gpu_below, and on GPUs older than
    // Hopper. 0 B: no GPU has defaults of its own.
    Bytes small_gpu_below;
    std::int64_t small_gpu_batched_tokens = 2048;
    std::int64_t small_gpu_num_seqs = 256;
  } scheduler;

  // Own relative error of a step, in addition to the errors of its kernels. The default holds for
  // profiles without fitted constants: it is the error of documented defaults where measurements
  // showed it (docs/composition.md).
  double step_error = 0.25;
  // Relative error of routed experts in addition to that of their kernels, shared by all layers:
  // the load of the experts and the engine's choice of kernels are not known.
  double experts_error = 0;
  // Relative error of the first tokens of closed loops in addition to those of their steps: how
  // requests bunch, what waits before and after the steps, and the first requests of a server. The
  // default is the spread of measured closed loops around the closed form where nothing is fitted
  // (docs/lab/2026-11-serving-accuracy.md).
  double ttft_error = 0.5;
};

// Whether the engine runs on the GPU, by its vendor.
bool runs_on(const EngineProfile& engine, const Gpu& gpu);

// Declares every parameter once. Catalog files and the `engine` keys of a scenario read through it.
void declare(Fields& fields, EngineProfile& engine);

// The profile with an id or alias. `with_fit` adds its fitted constants. Throws InputError with the
// nearest name.
EngineProfile load_engine(std::string_view id, const Bundle& bundle, bool with_fit = true);
// The profile on GPUs of one class: as above, then catalog/engines/by-gpu/<id>-<class>.yaml (what
// the engine runs differently there) and catalog/engines/fitted/<id>-<class>.yaml.
EngineProfile load_engine(std::string_view id, const Gpu& gpu, const Bundle& bundle,
                          bool with_fit = true);
// "hopper" (H100, H200, ...), "blackwell" (B200, B300, GB200: data centre only), or empty for GPUs
// without files of their own.
std::string_view engine_gpu_class(const Gpu& gpu);
std::vector<std::string> engine_ids(const Bundle& bundle);

// Tokens that a replayed decode step of `tokens` tokens computes: the next captured size
// (Execution::graph_sizes), at most graph_tokens. Returns `tokens` without graphs and above
// graph_tokens. Throws InputError if graph_sizes is malformed.
std::int64_t padded_tokens(const EngineProfile& engine, std::int64_t tokens);

}  // namespace orrery
