// A serving engine as a set of constants: the kernels it runs, the time its host side takes, how it
// fills memory, and how it fills a step.
//
// Profiles are catalog/engines/<id>.yaml. A number there is either a documented default of the
// engine, whose source the file names, or fitted by `orrery fit engines` or `orrery fit services`.
// Fitted numbers are kept in catalog/engines/fitted/<id>.yaml, which is read after the profile; its
// key `calibration` says on which measurements. Users override any key
// (`--set engine.scheduler.max_num_seqs=64`).
//
// An engine that is started with its model and its layout alone differs from one that a vendor's
// recipe or a benchmark has tuned. `setup` of a profile says what each of the two ways sets
// otherwise; all other keys hold for both:
//
//   setup:
//     default: {execution: {graph_tokens: 128}, step_error: 0.26}
//     tuned: {}
//
// orrery/step/step_model.h states how a step follows from `kernels` and `execution`,
// orrery/memory/memory_model.h how `memory` is used, docs/serving.md what the schedulers do.
// Training stacks are described in orrery/workload/plan/training_stack.h.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/own_parameters.h"
#include "orrery/base/units.h"

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
    // is multiplied by (1 + r^4)^(1/4), where r is the ratio of the GPU's bandwidth to that of all
    // its units: near 1 for few, r for many bytes a unit. 0: no limit.
    BytesPerSecond unit_bandwidth;
    // Highest memory bandwidth of one compute unit on the GPUs whose measured kernels the engine
    // has. On GPUs with more, kernels reach no more: memory_factor is multiplied by the ratio. 0:
    // no limit.
    BytesPerSecond measured_unit_bandwidth;
    // Time of prefill and of decode attention relative to the measured kernels. Above 1 for older
    // engines.
    double prefill_attention_factor = 1, decode_attention_factor = 1;
    // Sequences times query heads of one device up to which decode attention splits the keys of a
    // sequence among blocks. Beyond, one block computes a query head of a sequence and reads the
    // keys of its KV head by itself, so that the call takes (query heads per KV head) times
    // unsplit_decode_factor as long. vLLM's own PagedAttention on GPUs without FlashAttention:
    // version 2 up to 512, version 1 beyond (vllm/attention/ops/paged_attn.py, v0.5.0). 0: always
    // split.
    std::int64_t split_decode_queries = 0;
    double unsplit_decode_factor = 1;
    // Time of kernels on pipeline stages after the first relative to the first stage's. Above 1
    // where one device computes all layers and reads the weights of the others over their link.
    double later_stage_factor = 1;
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
    // A batch is padded to the next captured size. False: a batch of another size is not replayed.
    bool graph_padding = true;
    // graph_tokens by the memory of the device (orrery/workload/plan/by_memory.h). Empty:
    // graph_tokens holds on all.
    std::string graph_tokens_by_memory;
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
    // The same for the routed experts of a layer in a step that carries a prompt: routing,
    // permutation, formats. 0.4 to 2.9 ms in engines written in Python, read from first tokens
    // (docs/lab/2026-11-serving-accuracy.md). Eager steps that only decode take less than that for
    // a whole layer and have none of it (docs/lab/2026-11-plain-starts.md).
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
    // Additional time of the first step that carries a prompt, in an engine that has answered
    // nothing but copies of one prompt: kernels of other shapes are compiled and loaded. It counts
    // if `new_shapes` is set, and in a cold engine as the least that start_up can be. InferenceX
    // warms SGLang up so, and the 99th percentile of its first tokens is 0.6 to 1.7 s above that of
    // a warm engine at any number of users (github.com/SemiAnalysisAI/InferenceX/issues/870).
    Seconds shape_start_up = microseconds(0);
    bool new_shapes = false;
    // Additional time of a cold engine's first step that continues a prompt: kernels that merge
    // attention over cached and over new tokens are compiled at their first use.
    Seconds continued_start_up = microseconds(0);
    // Additional time of the first step that carries a prompt.
    Seconds first_step_extra() const {
      return cold ? std::max(start_up, shape_start_up) : new_shapes ? shape_start_up : Seconds(0);
    }
    // The front end (API server and detokeniser) is one process. It admits one request after the
    // other and delivers one token after the other, in these times. The engine does not wait for
    // it: tokens queue, first tokens among them (orrery/serving/engine/delivery.h).
    Seconds frontend_per_request = microseconds(0);
    Seconds frontend_per_token = microseconds(0);
    // Additional time for each token of the answer that was made before: a front end that copies
    // the answer so far at every token takes longer the longer answers are. SGLang's
    // TokenizerManager does so unless stream_output is set (output_ids.copy(),
    // sglang/srt/managers/tokenizer_manager.py).
    Seconds frontend_per_past_token = microseconds(0);
    // Tokens of a sequence that are delivered together, after its first (SGLang's stream-interval).
    std::int64_t stream_interval = 1;
    // Time of the front end for a token, on average over the tokens that are delivered together.
    // `past`: tokens of the answer before it.
    Seconds delivery(double past = 0) const {
      return (frontend_per_token + frontend_per_past_token * past) /
             static_cast<double>(stream_interval);
    }
    // The front end runs in the engine's process, as in vLLM before 0.6 (from 0.5.4 on with
    // --disable-frontend-multiprocessing): the engine waits while it delivers the tokens of a step,
    // and takes turns with it on one interpreter. These host times are then added to those above:
    // one for each sequence of a step, and one for each tensor-parallel rank that is given work.
    bool frontend_in_process = false;
    Seconds in_process_per_sequence = microseconds(0);
    Seconds in_process_per_rank = microseconds(0);
    // Beam search (docs/serving.md): time in which the front end forms one request of a round.
    Seconds beam_overhead = microseconds(0);
    // Factor on host times for hosts that are older or not known (GpuArchitecture::older_host). The
    // times above are those of a host of 2022 or later.
    double older_host_factor = 1.5;
    // Time of each collective in addition to the network's, multiplied by log2(ranks).
    Seconds collective_latency = microseconds(0);
  } execution;

  struct Memory {
    double utilization = 0.9;  // share of the memory that the engine may fill, 0 to 1
    // The memory that `utilization` is a share of:
    //   kDevice        all memory of the device, for everything (vLLM's gpu_memory_utilization)
    //   kWeightsAndKv  memory that is free before the weights are loaded, for weights and KV cache;
    //                  activations and graphs are in the rest (SGLang's mem_fraction_static)
    //   kFree          memory that weights, activations and graphs leave free, for the KV cache
    //                  (TensorRT-LLM's free_gpu_memory_fraction)
    enum class ShareOf { kDevice, kWeightsAndKv, kFree } share_of = ShareOf::kDevice;
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

  // How a step is filled: what all batch schedulers have in common, and what each has for itself.
  struct Scheduler {
    // The order of the waiting sequences. Ties are broken by arrival. An evicted sequence goes to
    // the head of the queue under kFcfs and kLpm, and to its place in the order otherwise.
    enum class Order : std::uint8_t {
      kFcfs,      // by arrival
      kPriority,  // lowest Request::priority first
      kSjf,       // fewest tokens to compute first
      kLpm,       // by arrival, re-sorted by the scheduler: longest cached prefix first (SGLang)
    };
    std::string policy = "vllm";  // batch scheduler, a name of schedulers.def
    Order order = Order::kFcfs;
    bool async_scheduling = true;  // a step is planned while the one before it runs
    bool prefix_caching = true;
    bool continuous = true;  // false: a static batch runs until its last member is done
    bool chunked_prefill = true;
    OwnParameters own;  // of each policy, which declares them in its source
    std::int64_t max_num_batched_tokens = 8192;
    std::int64_t max_num_seqs = 1024;
    // max_num_batched_tokens by the memory of the device, as graph_tokens_by_memory.
    std::string batched_tokens_by_memory;
    // Tokens of prompts whose steps follow one another through pipeline stages without waiting
    // (llama.cpp's n_batch, which it cuts into n_ubatch tokens a step). 0: no limit.
    std::int64_t pipelined_tokens = 0;
    // Defaults of vLLM on GPUs with less memory than small_gpu_below, and on architectures with
    // small_gpu_defaults. 0 B: no GPU has defaults of its own.
    Bytes small_gpu_below;
    std::int64_t small_gpu_batched_tokens = 2048;
    std::int64_t small_gpu_num_seqs = 256;
  } scheduler;

  // Own relative error of a step, in addition to the errors of its kernels. The default holds for
  // profiles without fitted constants: it is the error of documented defaults where measurements
  // showed it (docs/composition.md).
  double step_error = 0.25;
  // GPU families (engine_gpu_family of engine_profile.h) whose measurements fitted the constants,
  // and the step_error on GPUs of all others. No families: step_error holds on every GPU.
  std::vector<std::string> fitted_on;
  double unfitted_error = 0.5;
  // Share of the error composed of kernels, collectives and host that a step keeps. Below 1 where
  // constants were fitted to whole steps of kernels that are otherwise known by physics alone: the
  // factors absorb most of what physics does not know. 1 on GPUs of families that the fit has not
  // seen.
  double composed_error_share = 1;
  // Relative error of routed experts in addition to that of their kernels, shared by all layers:
  // the load of the experts and the engine's choice of kernels are not known.
  double experts_error = 0;
  // Relative error of the first tokens of closed loops in addition to those of their steps: how
  // requests bunch, what waits before and after the steps, and the first requests of a server. The
  // default is the spread of measured closed loops around the closed form where nothing is fitted
  // (docs/lab/2026-11-serving-accuracy.md).
  double ttft_error = 0.5;

  // Kinds of layers of the models whose services were measured on this engine, of those that
  // layer_kinds.h names. A model with another kind has unseen_error in addition to step_error: as
  // much as step_error is where nothing was measured. Plain starts (`setup`), which were measured
  // on models of all kinds, have at least their own. Empty: all kinds.
  std::vector<std::string> fitted_layers;
  double unseen_error = 0.25;

  // Keys of this profile that the ways to start the engine set otherwise, in the order in which its
  // files state them.
  struct Setups {
    std::vector<Node> plain, tuned;
    bool differ = false;  // in more than step_error and experts_error
  } setups;
};

// Declare every key of a part once (orrery/serving/profile/engine_profile.h has the whole profile).
void declare(Fields& fields, EngineProfile::Kernels& kernels);
void declare(Fields& fields, EngineProfile::Execution& execution);
void declare(Fields& fields, EngineProfile::Memory& memory);

// Whether a decode step of `tokens` tokens is replayed from a captured graph.
bool is_captured(const EngineProfile& engine, std::int64_t tokens);
// Tokens that a replayed decode step of `tokens` tokens computes: the next captured size
// (Execution::graph_sizes), at most graph_tokens. Returns `tokens` without graphs and above
// graph_tokens. Throws InputError if graph_sizes is malformed.
std::int64_t padded_tokens(const EngineProfile& engine, std::int64_t tokens);

}  // namespace orrery
