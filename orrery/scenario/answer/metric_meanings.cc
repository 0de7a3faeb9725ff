#include "orrery/scenario/answer/metric_meanings.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

constexpr std::string_view kEstimate = "estimate", kSimulate = "simulate", kTrain = "train",
                           kNetworkVerb = "network", kKernel = "kernel", kReplay = "replay",
                           kServe = "estimate, simulate";

constexpr MetricMeaning kMeanings[] = {
    // Memory.
    {"memory", "estimate, train",
     "what one GPU holds: of the fullest rank, at the moment of the peak"},
    {"weights", kEstimate, "what the model's weights take of a GPU"},
    {"kv_cache_per_request", kEstimate, "KV cache of one request at its end, on all GPUs together"},
    {"max_concurrency", kEstimate, "requests of this length whose KV cache fits at once"},
    {"request_tokens", "memory",
     "the longest request: max_model_len, or isl + osl if that is more"},
    {"kv_concurrency", "memory",
     "requests of request_tokens tokens for which the KV cache has blocks; vLLM logs it as "
     "\"Maximum "
     "concurrency\""},
    // Latency and throughput.
    {"ttft", kServe,
     "time to first token: from a request's arrival to its first token; mean over the requests"},
    {"ttft_priority_", kSimulate, "ttft of the requests of a priority: ttft_priority_0, ..."},
    {"tpot", kServe, "time per output token after the first: (e2e - ttft) / (osl - 1); mean"},
    {"e2e", kServe, "from a request's arrival to its last token; mean"},
    {"prefill_time", kEstimate, "of the steps that read all prompts of the batch"},
    {"output_throughput", kServe, "tokens generated, over the time that it took"},
    {"total_throughput", kServe, "tokens read and generated, over the time that it took"},
    {"request_throughput", kServe, "requests answered, over the time that it took"},
    // Services.
    {"itl", kSimulate, "inter-token latency: gap between two tokens of a request; mean over gaps"},
    {"itl_max", kSimulate, "the longest gap between two tokens"},
    {"queue", kSimulate, "in the scheduler's queue, until the first step that works for a request"},
    {"front_end", kSimulate, "before the scheduler: tokenising, hashing and their own queue; mean"},
    {"waiting_q1", kSimulate,
     "requests in the schedulers' queues, mean of the first quarter of the time"},
    {"waiting_q2", kSimulate, "waiting_q1 of the second quarter"},
    {"waiting_q3", kSimulate, "waiting_q1 of the third quarter"},
    {"waiting_q4", kSimulate,
     "waiting_q1 of the last quarter: grows on where load exceeds capacity"},
    {"duration", kSimulate, "from the first counted arrival to the last counted end"},
    {"goodput", kSimulate, "requests that meet every limit of slo, over the duration"},
    {"slo_attainment", kSimulate, "share of the requests that meet every limit of slo"},
    {"max_rate", kSimulate, "the highest arrival rate at which slo is met"},
    {"busy", kSimulate, "share of the engines' time in which a step runs"},
    {"mfu", kSimulate,
     "2 FLOPs a token and active parameter, over the GPU's peak in the same time"},
    {"bandwidth_use", kSimulate,
     "weights and KV cache that steps read, over the memory's bandwidth"},
    {"running", kSimulate, "sequences that get a token in a step, mean over steps"},
    {"steps", kSimulate, "steps of all engines"},
    {"requests", kSimulate, "that the figures count: without warm-up and cool-down"},
    {"rejected", kSimulate, "requests turned away: longer than the context or the KV cache"},
    {"evictions", kSimulate,
     "sequences that lost their KV cache and were computed again (preemption)"},
    {"stalls", kSimulate, "decodes that waited while others' prompts had a step for themselves"},
    {"kv_tokens", "memory, simulate",
     "tokens for which the KV cache has room; vLLM logs it as \"GPU KV cache size\""},
    {"kv_use", kSimulate, "share of the KV cache in use, while engines are busy"},
    {"kv_waste", kSimulate, "share of the used KV blocks' room that holds no token yet"},
    {"kv_stranded", kSimulate, "share of the KV cache that is reserved and will not be used"},
    {"prefix_hits", kSimulate, "share of the prompts' tokens that the prefix cache held"},
    {"host_kv_tokens", kSimulate, "tokens that the tier of KV in host memory holds"},
    {"host_hits", kSimulate, "share of the prompts' tokens that came from host memory"},
    {"host_copy", kSimulate, "share of busy time that copies from host memory take"},
    {"disk_kv_tokens", kSimulate, "tokens that the tier of KV on disk holds"},
    {"disk_hits", kSimulate, "share of the prompts' tokens that came from disk"},
    {"disk_waits", kSimulate, "share of busy time in which steps wait for the disk"},
    // Prefill and decode apart, and fleets.
    {"kv_transfer", kSimulate,
     "from the end of a prompt until its KV cache is at the decoder; mean"},
    {"kv_transfer_alone", kSimulate, "kv_transfer with no other transfer on the links"},
    {"prefill_busy", kSimulate, "busy, of the engines that prefill"},
    {"decode_busy", kSimulate, "busy, of the engines that decode"},
    {"engines", kSimulate, "engines that run, mean over time (autoscaling)"},
    {"most_engines", kSimulate, "the most engines at once"},
    {"engine_starts", kSimulate, "engines started by the autoscaler"},
    {"gpu_hours", "simulate, train", "hours of all GPUs together"},
    {"failures", "simulate, train", "of engines in the simulated time; of the job in its run"},
    {"retries", kSimulate, "requests sent again because their engine failed"},
    // Techniques.
    {"accepted_length", kSimulate, "tokens a verification yields: accepted drafts and one more"},
    {"acceptance_rate", kSimulate, "share of the drafted tokens that are accepted"},
    {"speedup", kSimulate, "tpot without the technique over tpot with it, mean over requests"},
    {"speedup_e2e", kSimulate, "e2e without the technique over e2e with it, mean over requests"},
    {"tpot_overhead", kSimulate, "by how much the technique makes tpot longer"},
    {"adapter_size", kSimulate, "of one LoRA adapter"},
    {"adapter_load", kSimulate, "from host memory to the GPU, of one adapter"},
    {"adapter_loads", kSimulate, "adapters brought to a GPU in the simulated time"},
    {"adapter_loading", kSimulate, "share of busy time in which steps wait for an adapter"},
    {"stretch", kSimulate, "by how much the neighbour on the GPU makes steps longer"},
    {"neighbour_stretch", kSimulate, "by how much this service makes the neighbour's steps longer"},
    {"neighbour_kv_tokens", kSimulate, "tokens that the neighbour's KV cache holds"},
    {"neighbour_tpot", kSimulate, "the neighbour's tpot"},
    {"neighbour_tpot_overhead", kSimulate,
     "by how much the neighbour's tpot is longer than alone on the GPU"},
    // Training.
    {"iteration_time", "train, replay", "of one global batch, optimizer included"},
    {"throughput", kTrain, "tokens over the iteration's time, all GPUs"},
    {"throughput_per_gpu", kTrain, "throughput of one GPU"},
    {"model_tflops", kTrain, "model FLOPs over the iteration's time, of one GPU"},
    {"mfu", kTrain, "model FLOPs over the GPU's peak in the same time; nothing recomputed counts"},
    {"hfu", kTrain, "FLOPs that are executed, recomputed ones too, over the GPU's peak"},
    {"bubble", kTrain, "share of the iteration in which the pipeline leaves a stage idle"},
    {"communication", kTrain, "share of the iteration in which only communication runs"},
    {"tensor_exposed", kTrain, "tensor-parallel communication that nothing hides"},
    {"context_exposed", kTrain, "context-parallel communication that nothing hides"},
    {"expert_exposed", kTrain, "exchanges of experts' tokens that nothing hides"},
    {"data_exposed", kTrain, "gradients' and weights' communication that nothing hides"},
    {"data_communication", kTrain,
     "gradients' and weights' communication of the busiest stage, hidden or not"},
    {"data_overlap", kTrain, "share of data_communication that is hidden"},
    {"port_contention", kTrain,
     "of the iteration, transfers of one rank waiting for each other at their node's ports"},
    {"attention_block", kTrain, "attention of one layer and micro-batch, forward and backward"},
    {"attention_core", kTrain, "of attention_block, softmax(QK)V"},
    {"mlp_block", kTrain, "MLP or experts of one layer and micro-batch, forward and backward"},
    {"layer", kTrain, "one layer of one micro-batch, forward and backward"},
    {"mlp_of_peak", kTrain, "the MLP's products over the GPU's peak"},
    {"mlp_flops", kTrain, "FLOPs of the MLP's products, of one layer and micro-batch"},
    {"layer_flops", kTrain, "FLOPs of one layer and micro-batch"},
    {"optimizer", kTrain, "the optimizer's step"},
    {"activations", kTrain, "memory of what the backward pass needs of the forward one"},
    {"fits", kTrain, "chance that the job fits, from the scatter of measured memory"},
    {"trained_parameters", kTrain, "parameters that the optimizer updates"},
    {"max_micro_batch", kTrain, "the largest micro-batch that fits"},
    {"peak_micro_batches", kTrain, "micro-batches whose activations a stage holds at the most"},
    {"scaling_efficiency", kTrain, "throughput_per_gpu over that of the first number of GPUs"},
    {"evaluation", kTrain, "of one evaluation"},
    {"time_to_train", kTrain, "of all tokens, with evaluations"},
    {"total_flops", kTrain, "model FLOPs of the whole run"},
    {"cost", kTrain, "gpu_hours times the price, in its currency"},
    {"iteration_p50", kTrain, "median over draws of stragglers, links and stalls"},
    {"iteration_p95", kTrain, "what 5 % of the draws exceed"},
    {"time_to_train_p5", kTrain, "what 95 % of the draws exceed, failures included"},
    {"time_to_train_p50", kTrain, "median over the draws, failures included"},
    {"time_to_train_p95", kTrain, "what 5 % of the draws exceed, failures included"},
    {"goodput", kTrain, "share of the run's time that is not lost to failures and checkpoints"},
    {"checkpoint_interval", kTrain, "work between checkpoints: the asked one, or the best"},
    // Replays of a trace.
    {"measured_time", kReplay, "of one iteration, as the profiler recorded it"},
    {"replayed_time", kReplay, "of one iteration, as the graph of the trace gives it back"},
    {"replay_error", kReplay, "replayed_time over measured_time, less 100 %"},
    {"time_ratio", kReplay, "iteration_time with what was asked, over replayed_time"},
    // Networks.
    {"time", "network, kernel", "of the collective, the trace or the kernel"},
    {"algbw", kNetworkVerb, "bytes of the collective over its time"},
    {"busbw", kNetworkVerb, "algbw times what the busiest link sends for each byte (nccl-tests)"},
    {"bound", kNetworkVerb, "no shorter time is possible on these links"},
    {"sms", kNetworkVerb, "multiprocessors that the collective holds"},
    {"compute_slowdown", kNetworkVerb,
     "of computation beside it, from the multiprocessors it holds"},
    {"sent_inside", kNetworkVerb, "bytes that a rank sends within its node"},
    {"sent_between", kNetworkVerb, "bytes that a rank sends to other nodes"},
    {"computing", kNetworkVerb, "of a trace: computation on the busiest rank"},
    {"exposed", kNetworkVerb, "of a trace: time beyond computing"},
    // Kernels.
    {"compute_roofline", kKernel, "FLOPs over the GPU's peak: no shorter time is possible"},
    {"memory_roofline", kKernel, "bytes over the memory's bandwidth: no shorter time is possible"},
    {"efficiency", kKernel, "the longer of the two rooflines over the time"},
    {"rate", kKernel, "FLOPs over the time"},
    {"peak_rate", kKernel, "the GPU's data sheet: FLOPs of this format"},
    {"bandwidth", kKernel, "bytes that must be moved, over the time"},
    {"peak_bandwidth", kKernel, "the GPU's data sheet: bandwidth of its memory"},
};

const MetricMeaning* find_exactly(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                      [&](const MetricMeaning& m) { return m.name == name; });
  return at == std::end(kMeanings) ? nullptr : at;
}

}  // namespace

std::span<const MetricMeaning> metric_meanings() { return kMeanings; }

const MetricMeaning* find_metric_meaning(std::string_view name) {
  if (const MetricMeaning* m = find_exactly(name)) return m;
  constexpr std::string_view kCollocated = "collocated_";
  if (name.starts_with(kCollocated)) return find_metric_meaning(name.substr(kCollocated.size()));
  for (const std::string_view quantile : {"_p10", "_p50", "_p90", "_p99"}) {
    if (name.ends_with(quantile)) return find_metric_meaning(name.substr(0, name.size() - 4));
  }
  constexpr std::string_view kOfPriority = "ttft_priority_";
  return name.starts_with(kOfPriority) ? find_exactly(kOfPriority) : nullptr;
}

}  // namespace orrery
