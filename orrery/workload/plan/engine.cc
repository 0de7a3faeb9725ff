#include "orrery/workload/plan/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// The first captured size that is at least `tokens`; `tokens` if there is none.
std::int64_t next_captured(std::string_view sizes, std::int64_t tokens) {
  const char *at = sizes.data(), *const end = at + sizes.size();
  const auto number = [&](std::int64_t least) {
    std::int64_t n = 0;
    const auto r = std::from_chars(at, end, n);
    if (r.ec != std::errc() || n < least) {
      throw InputError(fmt::format(
          "engine.execution.graph_sizes: expected sizes and runs such as 1, 2, 8-256+8, got '{}'",
          sizes));
    }
    at = r.ptr;
    return n;
  };
  const auto sign = [&](char c) { return at != end && *at == c && (++at, true); };
  while (at != end) {
    if (sign(',') || sign(' ')) continue;
    const std::int64_t first = number(1);
    const std::int64_t last = sign('-') ? number(first) : INT64_MAX;
    if (tokens <= first) return first;
    if (!sign('+')) continue;
    const std::int64_t step = number(1), size = first + (tokens - first + step - 1) / step * step;
    if (size <= last) return size;
  }
  return tokens;
}

}  // namespace

void declare(Fields& g, EngineProfile::Kernels& k) {
  const std::vector<std::string> frameworks = {"vllm", "sglang", "trtllm"};
  g.add("gemm", k.gemm, "framework whose measured GEMMs are used").one_of(frameworks);
  g.add("scaled_gemm", k.scaled_gemm,
        "framework whose measured fp8 and nvfp4 GEMMs are used; empty: that of gemm")
      .one_of({"", "vllm", "sglang", "trtllm"});
  g.add("attention", k.attention, "framework whose measured attention is used").one_of(frameworks);
  g.add("moe", k.moe, "framework whose measured fused MoE is used").one_of(frameworks);
  g.add("mla", k.mla, "framework whose measured MLA is used").one_of(frameworks);
  g.add("linear_attention", k.linear_attention,
        "framework whose measured recurrent mixers are used")
      .one_of(frameworks);
  g.add("sparse_attention", k.sparse_attention,
        "framework whose measured blocks of sparse attention are used")
      .one_of(frameworks);
  g.add("collectives", k.collectives, "library whose all-reduce is used inside a node")
      .one_of({"vllm", "sglang", "trtllm", "nccl"});
  g.add("compute_factor", k.compute_factor,
        "time of compute-bound kernels relative to the measured ones")
      .range(0.3, 20);
  g.add("memory_factor", k.memory_factor,
        "time of memory-bound kernels relative to the measured ones")
      .range(0.3, 20);
  g.add("measured_unit_bandwidth", k.measured_unit_bandwidth,
        "memory bandwidth of one compute unit above which the measured kernels are no faster; "
        "0 B/s: no limit");
  g.add("unit_bandwidth", k.unit_bandwidth,
        "highest memory bandwidth of one compute unit; 0: no limit")
      .range(0, 1e12);
  g.add("prefill_attention_factor", k.prefill_attention_factor,
        "time of prefill attention relative to the measured kernels")
      .range(0.3, 20);
  g.add("decode_attention_factor", k.decode_attention_factor,
        "time of decode attention relative to the measured kernels")
      .range(0.3, 20);
  g.add("split_decode_queries", k.split_decode_queries,
        "sequences times query heads beyond which decode attention does not split sequences; "
        "0: it always does")
      .range(0, 1e9);
  g.add("unsplit_decode_factor", k.unsplit_decode_factor,
        "time of unsplit decode attention relative to query heads per KV head")
      .range(0.3, 20);
  g.add("later_stage_factor", k.later_stage_factor,
        "time of kernels on pipeline stages after the first relative to the first's")
      .range(1, 50);
  g.add("moe_prefill_factor", k.moe_prefill_factor,
        "time of routed experts relative to the measured kernels, in steps with a prompt")
      .range(0.3, 20);
  g.add("mixed_decode_exponent", k.mixed_decode_exponent,
        "decode attention in a step with a prompt takes (heads per KV head)^exponent as long")
      .range(0, 1);
  g.add("tf32", k.tf32,
        "products that a model asks for in fp32 (MiniMax-M2's router) are computed in tf32");
}

namespace {

void declare_graphs(Fields& g, EngineProfile::Execution& x) {
  g.add("decode_graphs", x.decode_graphs, "decode steps are replayed from captured graphs");
  g.add("prefill_graphs", x.prefill_graphs,
        "steps with a prompt are replayed in pieces, all but attention (vLLM V1)");
  g.add("graph_tokens", x.graph_tokens, "largest captured batch").unit("tokens").range(0, 1 << 20);
  g.add("graph_sizes", x.graph_sizes,
        "captured batch sizes: sizes and runs such as 8-256+8; empty: every size");
  g.add("graph_padding", x.graph_padding,
        "batches are padded to the next captured size; false: those of other sizes are eager");
  g.add("graph_tokens_by_memory", x.graph_tokens_by_memory,
        "largest captured batch by the memory of the device: '60 GiB: 32/160, 512' stands for "
        "32 below 60 GiB (160 with four tensor-parallel ranks or more), else 512; empty: "
        "graph_tokens")
      .verbatim();
  g.add("graph_tokens_per_sequence", x.graph_tokens_per_sequence,
        "limit of graph_tokens for each sequence of max_num_seqs; 0: no limit")
      .unit("tokens")
      .range(0, 1 << 10);
  g.add("shared_experts_stream_tokens", x.shared_experts_stream_tokens,
        "most tokens of a replayed step whose shared experts overlap with the routed ones")
      .unit("tokens")
      .range(0, 1 << 20);
  g.add("fused", x.fused, "fusible elementwise kernels run inside their neighbours");
}

void declare_steps(Fields& g, EngineProfile::Execution& x) {
  g.add("launch", x.launch, "CPU time of one operator of an eager step");
  g.add("kernel_gap", x.kernel_gap, "GPU idle time between two kernels of an eager step");
  g.add("graph_launch", x.graph_launch, "CPU time of a graph replay for each layer");
  g.add("host_per_step", x.host_per_step, "host time for each step");
  g.add("host_per_sequence", x.host_per_sequence, "host time for each sequence of a step");
  g.add("host_per_layer", x.host_per_layer, "host time for each layer of an eager step");
  g.add("host_per_moe_layer", x.host_per_moe_layer,
        "further host time for the routed experts of a layer, in eager steps with a prompt");
  g.add("host_overlapped", x.host_overlapped, "host time overlaps with the GPU's");
  g.add("prefill_floor", x.prefill_floor, "least time of an eager step with a prompt");
}

void declare_requests(Fields& g, EngineProfile::Execution& x) {
  g.add("request_overhead", x.request_overhead, "time before a request is queued");
  g.add("overhead_per_prompt_token", x.overhead_per_prompt_token,
        "time before a request is queued, for each token of its prompt");
  g.add("start_up", x.start_up, "additional time of a cold engine's first step with a prompt");
  g.add("cold", x.cold, "the engine has served nothing before");
  g.add("shape_start_up", x.shape_start_up,
        "additional time of the first step with a prompt of an engine that has answered "
        "copies of one prompt alone");
  g.add("new_shapes", x.new_shapes, "the engine has answered copies of one prompt alone");
  g.add("continued_start_up", x.continued_start_up,
        "additional time of a cold engine's first step that continues a prompt");
  g.add("frontend_per_request", x.frontend_per_request,
        "time in which the front end admits one request");
  g.add("stream_interval", x.stream_interval,
        "SGLang: tokens of a sequence that the front end delivers together")
      .range(1, 1e6);
  g.add("frontend_per_token", x.frontend_per_token,
        "time in which the front end delivers one token");
  g.add("frontend_per_past_token", x.frontend_per_past_token,
        "additional time for each token of the answer that was made before");
  g.add("frontend_in_process", x.frontend_in_process,
        "the front end runs in the engine's process, which waits for it");
  g.add("in_process_per_sequence", x.in_process_per_sequence,
        "then: further host time for each sequence of a step");
  g.add("in_process_per_rank", x.in_process_per_rank,
        "then: further host time of a step for each tensor-parallel rank");
  g.add("beam_overhead", x.beam_overhead,
        "beam search: time in which the front end forms the request of one beam");
  g.add("older_host_factor", x.older_host_factor,
        "factor on host times for GPUs older than Hopper and of other vendors")
      .range(0.5, 5);
  g.add("collective_latency", x.collective_latency,
        "time of each collective in addition to the network's, times log2(ranks)");
}

}  // namespace

void declare(Fields& g, EngineProfile::Execution& x) {
  declare_graphs(g, x);
  declare_steps(g, x);
  declare_requests(g, x);
}

void declare(Fields& g, EngineProfile::Memory& m) {
  g.add("utilization", m.utilization, "share of device memory the engine may fill")
      .alias("gpu_memory_utilization")
      .range(0.05, 1);
  g.add_enum("share_of", m.share_of, {"device", "weights-and-kv", "free"},
             "what utilization is a share of: all memory of the device; memory for weights "
             "and KV cache alone (SGLang's mem_fraction_static); or the memory that weights "
             "and activations leave to the KV cache (TensorRT-LLM's "
             "free_gpu_memory_fraction)");
  g.add("paged", m.paged,
        "KV cache in blocks; false: the longest length reserved for each sequence");
  g.add("block_size", m.block_size, "tokens of a KV block").unit("tokens").range(1, 4096);
  g.add("hybrid_kv_cache", m.hybrid_kv_cache,
        "KV blocks outside of a sliding window are freed (vLLM's hybrid KV cache manager)");
  g.add("window_share", m.window_share,
        "size of the sliding-window KV pool relative to the full-attention pool (SGLang); 0: "
        "one pool")
      .alias("swa_full_tokens_ratio")
      .range(0, 10);
  g.add("context", m.context, "driver context and libraries, per device");
  g.add("graphs", m.graphs, "captured graphs, per device");
  g.add("workspace", m.workspace, "kernel workspaces, per device");
}

bool is_captured(const EngineProfile& engine, std::int64_t tokens) {
  const auto& x = engine.execution;
  if (!x.decode_graphs || tokens > x.graph_tokens) return false;
  return x.graph_padding || next_captured(x.graph_sizes, tokens) == tokens;
}

std::int64_t padded_tokens(const EngineProfile& engine, std::int64_t tokens) {
  const auto& x = engine.execution;
  if (!x.decode_graphs || tokens > x.graph_tokens) return tokens;
  return std::min(next_captured(x.graph_sizes, tokens), x.graph_tokens);
}

}  // namespace orrery
