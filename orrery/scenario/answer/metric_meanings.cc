#include "orrery/scenario/answer/metric_meanings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace orrery {
namespace {

constexpr std::string_view kEstimate = "estimate", kSimulate = "simulate", kTrain = "train",
                           kNetworkVerb = "network", kKernel = "kernel",
                           kServe = "estimate, simulate";

constexpr MetricMeaning kMeanings[] = {
    // Memory.
    {"memory", "estimate, train",
     "memory in use on one GPU, for the fullest rank at the moment of its peak"},
    {"weights", kEstimate, "memory of the model's weights on one GPU"},
    {"kv_cache_per_request", kEstimate, "KV cache of one request at its end, summed over all GPUs"},
    {"max_concurrency", kEstimate,
     "number of requests of this length whose KV caches fit at the same time"},
    {"request_tokens", "memory",
     "length of the longest request: max_model_len, or isl + osl if that is more"},
    {"kv_concurrency", "memory",
     "requests of request_tokens tokens for which the KV cache has blocks; vLLM logs it as "
     "\"Maximum "
     "concurrency\""},
    // Plans.
    {"chance", "plan",
     "probability that the limits hold, over errors of the step times and other requests: the "
     "share "
     "of ten simulations in which they did"},
    {"in_time", "plan",
     "probability that the run ends in plan.by, over the errors of the prediction and failures"},
    {"headroom", "plan", "by how much the rate may grow until the limits are missed"},
    // Latency and throughput.
    {"ttft", kServe,
     "time to first token: from a request's arrival to its first token; mean over the requests"},
    {"ttft_priority_", kSimulate, "ttft of the requests of a priority: ttft_priority_0, ..."},
    {"ttft_class_", kSimulate, "ttft of the requests of a class of slo.classes: ttft_class_chat"},
    {"tpot_class_", kSimulate, "tpot of the requests of a class of slo.classes"},
    {"e2e_class_", kSimulate, "e2e of the requests of a class of slo.classes"},
    {"tpot", kServe, "time per output token after the first: (e2e - ttft) / (osl - 1); mean"},
    {"e2e", kServe, "end-to-end latency: from a request's arrival to its last token; mean"},
    {"prefill_time", kEstimate, "time of the steps that compute the prompts of the batch"},
    {"output_throughput", kServe, "generated tokens per second"},
    {"total_throughput", kServe, "prompt tokens and generated tokens per second"},
    {"request_throughput", kServe, "answered requests per second"},
    {"cost_per_hour", "estimate, simulate, train, kernel, network",
     "price of all GPUs for an hour; of a simulated fleet on average over the time"},
    {"cost_per_million_input_tokens", kServe,
     "whole cost of the GPUs, in all their time, over the prompt tokens, in millions"},
    {"cost_per_million_output_tokens", kServe,
     "whole cost of the GPUs, in all their time, over the generated tokens, in millions"},
    {"cost_per_million_tokens", kServe,
     "whole cost of the GPUs, in all their time, over prompt and generated tokens, in millions"},
    {"cost_per_request", kServe,
     "whole cost of the GPUs, in all their time, over the answered requests"},
    {"cost_per_million_calls", "kernel, network",
     "price of all GPUs for the time of a million calls that follow each other"},
    {"plant_power", "estimate, simulate, train, kernel, network",
     "power of the whole deployment in energy.scope: its boards, its nodes at the wall, or the "
     "data centre; in simulate the mean"},
    {"plant_power_p99", kSimulate,
     "plant_power that the means of a second exceed in one second of a hundred"},
    {"plant_power_max", kSimulate, "the largest mean of plant_power over a second"},
    {"carbon_per_hour", "estimate, simulate, train, kernel, network",
     "emissions of the deployment in an hour: electricity, and with energy.embodied of its boards"},
    {"carbon_per_million_output_tokens", kServe,
     "all emissions over the generated tokens, in millions"},
    {"carbon_per_request", kServe, "all emissions over the answered requests"},
    {"carbon_per_million_calls", "kernel, network",
     "all emissions in the time of a million calls that follow each other"},
    {"deferred_carbon_per_request", kServe,
     "carbon_per_request if the run waits for the best hours of the series of energy.carbon"},
    {"embodied_carbon_per_hour", "estimate, simulate, train, kernel, network",
     "what it took to make the boards, for an hour of their life; a part of carbon_per_hour"},
    {"carbon", "simulate, train", "all emissions of the run"},
    {"deferred_carbon", "simulate, train",
     "carbon if the run waits for the best hours of the series of energy.carbon"},
    {"power", "estimate, simulate, train",
     "mean power of the board of one GPU while it computes, in simulate also while it waits; "
     "without host, switches and cooling"},
    {"clock", "estimate, simulate, train, kernel, network",
     "mean clock of the multiprocessors while they compute, where a power limit or a clock is "
     "asked for"},
    {"energy", "simulate, train",
     "energy of all GPUs' boards in the whole run; with energy.scope that of the nodes or the data "
     "centre"},
    {"energy_per_token", "estimate, simulate, train",
     "energy of all GPUs' boards for one generated token, prompts included; of training for one "
     "token of the batch; with energy.scope that of the nodes or the data centre"},
    {"energy_per_request", kServe,
     "energy of all GPUs' boards for one request; with energy.scope that of the nodes or the data "
     "centre"},
    {"chip_area", kEstimate, "area of the die of a chip of cores"},
    // Services.
    {"itl", kSimulate, "inter-token latency: gap between two tokens of a request; mean over gaps"},
    {"itl_max", kSimulate, "the longest gap between two tokens"},
    {"queue", kSimulate, "time of a request in the scheduler's queue, until its first step; mean"},
    {"front_end", kSimulate,
     "time of a request before the scheduler: tokenising, hashing and their queue; mean"},
    {"waiting_q1", kSimulate,
     "mean number of requests in the schedulers' queues in the first quarter of the time"},
    {"waiting_q2", kSimulate,
     "mean number of requests in the schedulers' queues in the second quarter of the time"},
    {"waiting_q3", kSimulate,
     "mean number of requests in the schedulers' queues in the third quarter of the time"},
    {"waiting_q4", kSimulate,
     "mean number of requests in the schedulers' queues in the last quarter of the time; it grows "
     "if the load exceeds the capacity"},
    {"duration", kSimulate, "time from the first counted arrival to the last counted end"},
    {"goodput", kSimulate, "requests per second that meet every limit of slo"},
    {"slo_attainment", kSimulate, "share of the requests that meet every limit of slo"},
    {"max_rate", kSimulate, "the highest arrival rate at which slo is met"},
    {"busy", kSimulate, "share of the engines' time in which a step runs"},
    {"mfu", kSimulate,
     "model FLOPs utilisation: 2 FLOPs per token and active parameter, over the GPU's peak in the "
     "same time"},
    {"bandwidth_use", kSimulate,
     "bytes of weights and KV cache that steps read, over the memory's bandwidth in the same time"},
    {"running", kSimulate, "number of sequences that get a token in a step; mean over steps"},
    {"steps", kSimulate, "number of steps of all engines"},
    {"requests", kSimulate, "number of requests in the figures, without warm-up and cool-down"},
    {"rejected", kSimulate,
     "number of requests that are refused, because they are longer than the context or the KV "
     "cache"},
    {"evictions", kSimulate,
     "number of sequences that lost their KV cache and were computed again (preemption)"},
    {"stalls", kSimulate, "number of decodes that waited during a step with prompts only"},
    {"kv_tokens", "memory, simulate",
     "size of the KV cache in tokens; vLLM logs it as \"GPU KV cache size\""},
    {"kv_use", kSimulate, "share of the KV cache in use, while engines are busy"},
    {"kv_waste", kSimulate, "share of the KV memory in use that holds no token"},
    {"kv_stranded", kSimulate,
     "share of the KV cache that is free, but only in holes that are too small for the next "
     "sequence"},
    {"prefix_hits", kSimulate, "share of the prompts' tokens that the prefix cache held"},
    {"host_kv_tokens", kSimulate, "size in tokens of the KV tier in host memory"},
    {"host_hits", kSimulate, "share of the prompts' tokens that came from host memory"},
    {"host_copy", kSimulate,
     "share of the busy time in which steps wait for copies from host memory"},
    {"disk_kv_tokens", kSimulate, "size in tokens of the KV tier on disk"},
    {"disk_hits", kSimulate, "share of the prompts' tokens that came from disk"},
    {"disk_waits", kSimulate, "share of the busy time in which steps wait for the disk"},
    // Prefill and decode apart, and fleets.
    {"kv_transfer", kSimulate,
     "time from the end of a prompt until its KV cache is at the engine that decodes; mean"},
    {"kv_transfer_alone", kSimulate, "kv_transfer with no other transfer on the links"},
    {"prefill_busy", kSimulate,
     "share of the time in which a step runs on the engines that prefill"},
    {"decode_busy", kSimulate, "share of the time in which a step runs on the engines that decode"},
    {"prefill_engines", kSimulate, "engines, those that prefill only"},
    {"decode_engines", kSimulate, "engines, those that decode only"},
    {"engines", kSimulate, "number of engines that run; mean over the time (autoscaling)"},
    {"most_engines", kSimulate, "largest number of engines at one time"},
    {"engine_starts", kSimulate, "number of engines that the autoscaler started"},
    {"gpu_hours", "simulate, train", "hours of use (train: time_to_train), summed over all GPUs"},
    {"failures", "simulate, train",
     "number of failures: of engines in the simulated time, or of the job in its run"},
    {"retries", kSimulate, "number of requests that were sent again because their engine failed"},
    // Techniques.
    {"accepted_length", kSimulate,
     "mean number of tokens of a verification: the accepted drafts and one more"},
    {"acceptance_rate", kSimulate, "share of the drafted tokens that are accepted"},
    {"speedup", kSimulate, "tpot without the technique over tpot with it, mean over requests"},
    {"speedup_e2e", kSimulate, "e2e without the technique over e2e with it, mean over requests"},
    {"tpot_overhead", kSimulate, "relative increase of tpot by the technique"},
    {"adapter_size", kSimulate, "size of one LoRA adapter"},
    {"adapter_load", kSimulate, "time to copy one adapter from host memory to the GPU"},
    {"adapter_loads", kSimulate, "number of adapters copied to a GPU in the simulated time"},
    {"adapter_loading", kSimulate, "share of the busy time in which steps wait for an adapter"},
    {"stretch", kSimulate,
     "factor on the step times of this service while it shares the GPUs with the other model"},
    {"neighbour_stretch", kSimulate,
     "factor on the step times of the other model while it shares the GPUs with this service"},
    {"neighbour_kv_tokens", kSimulate, "size of the other model's KV cache in tokens"},
    {"neighbour_tpot", kSimulate, "tpot of the other model on the GPUs"},
    {"neighbour_tpot_overhead", kSimulate,
     "relative increase of the other model's tpot by sharing the GPUs"},
    // Training.
    {"iteration_time", "train, replay",
     "time of one iteration: a global batch and the optimizer's step"},
    {"throughput", kTrain, "tokens per second of the whole job"},
    {"throughput_per_gpu", kTrain, "tokens per second and GPU"},
    {"model_tflops", kTrain, "model FLOPs per second and GPU"},
    {"mfu", kTrain,
     "model FLOPs utilisation: model FLOPs, without recomputation, over the GPU's peak in the same "
     "time"},
    {"hfu", kTrain,
     "hardware FLOPs utilisation: executed FLOPs, with recomputation, over the GPU's peak in the "
     "same time"},
    {"bubble", kTrain, "share of the iteration in which the pipeline leaves a stage idle"},
    {"communication", kTrain, "share of the iteration in which only communication runs"},
    {"tensor_exposed", kTrain, "time of exposed tensor-parallel communication"},
    {"context_exposed", kTrain, "time of exposed context-parallel communication"},
    {"expert_exposed", kTrain, "time of exposed exchanges of tokens with experts"},
    {"data_exposed", kTrain, "time of exposed communication of gradients and weights"},
    {"stragglers", kTrain, "time in which the median GPU waits for the slowest one of the job"},
    {"data_communication", kTrain,
     "time of communication of gradients and weights on the busiest stage, exposed or not"},
    {"data_overlap", kTrain, "share of data_communication that overlaps with computation"},
    {"port_contention", kTrain,
     "time that an iteration takes longer because transfers of one rank share the ports of its "
     "node"},
    {"attention_block", kTrain,
     "time of attention of one layer and micro-batch, forward and backward"},
    {"attention_core", kTrain, "time of softmax(QK)V, a part of attention_block"},
    {"mlp_block", kTrain,
     "time of the MLP or the experts of one layer and micro-batch, forward and backward"},
    {"layer", kTrain, "time of one layer and micro-batch, forward and backward"},
    {"mlp_of_peak", kTrain, "rate of the MLP's products over the GPU's peak"},
    {"mlp_flops", kTrain, "FLOPs of the MLP's products, of one layer and micro-batch"},
    {"layer_flops", kTrain, "FLOPs of one layer and micro-batch"},
    {"optimizer", kTrain, "time of the optimizer's step"},
    {"memory_reserved", kTrain,
     "memory that the framework's allocator holds at its peak, without context and libraries "
     "(torch.cuda.max_memory_reserved)"},
    {"memory_allocated", kTrain,
     "memory in tensors at its peak, without what the allocator reserves beyond them "
     "(torch.cuda.max_memory_allocated)"},
    {"activations", kTrain,
     "memory of the tensors that the backward pass needs from the forward pass"},
    {"fits", kTrain, "chance that the job fits, from the scatter of measured memory"},
    {"host_memory", kTrain, "memory of a node's hosts for what is offloaded or paged to them"},
    {"trained_parameters", kTrain, "parameters that the optimizer updates"},
    {"max_micro_batch", kTrain, "the largest micro-batch that fits"},
    {"peak_micro_batches", kTrain,
     "largest number of micro-batches whose activations a stage holds"},
    {"scaling_efficiency", kTrain, "throughput_per_gpu over that of the first number of GPUs"},
    {"evaluation", kTrain, "time of one evaluation"},
    {"time_to_train", kTrain,
     "time of the whole run, with evaluations; with `chance` its mean with failures and "
     "checkpoints"},
    {"total_flops", kTrain, "model FLOPs of the whole run"},
    {"cost", "simulate, train",
     "cost of all GPUs until the end: gpu_hours times the price; of a simulated fleet its idle "
     "time "
     "too"},
    {"iteration_p50", kTrain,
     "median of the iteration time over draws of stragglers, slow links and stalls"},
    {"iteration_p95", kTrain, "iteration time that 5 % of the draws exceed"},
    {"time_to_train_p5", kTrain, "time to train that 95 % of the draws exceed, with failures"},
    {"time_to_train_p50", kTrain, "median of the time to train over the draws, with failures"},
    {"time_to_train_p95", kTrain, "time to train that 5 % of the draws exceed, with failures"},
    {"goodput", kTrain, "share of the run's time that is not lost to failures and checkpoints"},
    {"checkpoint_interval", kTrain, "time between checkpoints: the given one, or the best one"},
    // Networks.
    {"time", "network, kernel", "time of the collective, the trace or the kernel"},
    {"algbw", kNetworkVerb, "algorithm bandwidth: bytes of the collective over its time"},
    {"busbw", kNetworkVerb,
     "bus bandwidth: algbw times the bytes that the busiest link sends for each byte (nccl-tests)"},
    {"bound", kNetworkVerb, "lower bound of the time on these links"},
    {"sms", kNetworkVerb, "number of multiprocessors that the collective occupies"},
    {"power", kNetworkVerb, "mean power of the board of a GPU of the group during the call"},
    {"energy", kNetworkVerb, "energy of all boards of the group during one call"},
    {"link_energy", "network, train",
     "energy of the links of all GPUs of the group in one call, in train of all GPUs in an "
     "iteration, as far as sources state it; a part of what boards and nodes draw"},
    {"bit_energy_inside", kNetworkVerb, "energy of a bit on its way to another GPU of the node"},
    {"bit_energy_between", kNetworkVerb,
     "energy of a bit on its way to another node, over one leaf switch"},
    {"compute_slowdown", kNetworkVerb,
     "factor on the time of computation that overlaps with the collective"},
    {"sent_inside", kNetworkVerb, "bytes that a rank sends within its node"},
    {"sent_between", kNetworkVerb, "bytes that a rank sends to other nodes"},
    {"computing", kNetworkVerb, "time of computation on the busiest rank of a trace"},
    {"exposed", kNetworkVerb, "time of a trace in addition to its computation"},
    // Kernels.
    {"compute_roofline", kKernel, "FLOPs over the GPU's peak rate: a lower bound of the time"},
    {"memory_roofline", kKernel, "bytes over the memory's bandwidth: a lower bound of the time"},
    {"efficiency", kKernel, "the longer of the two rooflines over the time"},
    {"rate", kKernel, "FLOPs per second"},
    {"power", kKernel, "mean power of the GPU's board while the call runs"},
    {"energy", kKernel, "energy of the GPU's board during the call"},
    {"peak_rate", kKernel, "peak rate of this number format in the GPU's data sheet"},
    {"bandwidth", kKernel, "bytes that the kernel must move, per second"},
    {"peak_bandwidth", kKernel, "bandwidth of the memory in the GPU's data sheet"},
};

const MetricMeaning* find_exactly(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                      [&](const MetricMeaning& m) { return m.name == name; });
  return at == std::end(kMeanings) ? nullptr : at;
}

// Where the name of a metric ends before "_p95"; npos: it does not end with a percentile.
std::size_t end_before_percentile(std::string_view name) {
  const std::size_t at = name.rfind("_p");
  if (at == name.npos) return at;
  double p = -1;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + at + 2, last, p);
  return error == std::errc() && end == last && p >= 0 && p <= 100 ? at : name.npos;
}

}  // namespace

std::string percentile_metric(std::string_view metric, double percentile) {
  return fmt::format("{}_p{:g}", metric, percentile);
}

std::span<const MetricMeaning> metric_meanings() { return kMeanings; }

const MetricMeaning* find_metric_meaning(std::string_view name) {
  if (const MetricMeaning* m = find_exactly(name)) return m;
  constexpr std::string_view kCollocated = "collocated_";
  if (name.starts_with(kCollocated)) return find_metric_meaning(name.substr(kCollocated.size()));
  if (const std::size_t end = end_before_percentile(name); end != name.npos)
    return find_metric_meaning(name.substr(0, end));
  for (const char* of_some : {"ttft_priority_", "ttft_class_", "tpot_class_", "e2e_class_"}) {
    if (name.starts_with(of_some)) return find_exactly(of_some);
  }
  return nullptr;
}

}  // namespace orrery
