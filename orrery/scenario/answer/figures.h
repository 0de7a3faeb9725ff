// The table of figures: for each figure of an answer its name, its unit, which way is better, its
// subject, the questions that have it, and its meaning.
//
// Code that makes a figure names it here ("ttft"); a name that the table lacks does not compile. A
// kind of question may have a table of its own (QuestionKind::figures) for figures that no other
// kind has. A figure without a row fails a test (tests/golden/figures_test.cc).
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery {

enum class Better { kNeither, kLess, kMore };

// Groups of figures for which a rule holds: errors of prices widen all costs.
enum class Subject {
  kOther,
  kFirstToken,  // times to first tokens
  kRate,        // tokens or requests per second
  kCost,
  kCarbon,      // emissions of electricity, with embodied ones where they are counted
  kPlantPower,  // in energy.scope
  kEnergy,      // in energy.scope
  kOverhead,    // a relative increase, which may be negative
};

struct Figure {
  std::string_view name;
  std::string_view unit;  // of its values: "ms", "GB per GPU"; "": a number
  Better better = Better::kNeither;
  Subject subject = Subject::kOther;
  std::string_view asked;    // the questions that have it: "simulate", "train", ...
  std::string_view meaning;  // in a sentence
};

// Base units in one unit of a figure: 1e-3 for "ms", 1e9 for "GB per GPU". Throws
// std::invalid_argument for a unit that it does not know.
constexpr double scale_of(std::string_view unit) {
  struct Scale {
    std::string_view unit;
    double value;
  };
  constexpr Scale kScales[] = {{"", 1},        {"s", 1},     {"ms", 1e-3},    {"us", 1e-6},
                               {"min", 60},    {"h", 3600},  {"GB", 1e9},     {"MB", 1e6},
                               {"J", 1},       {"mJ", 1e-3}, {"pJ", 1e-12},   {"kJ", 1e3},
                               {"MWh", 3.6e9}, {"W", 1},     {"MHz", 1e6},    {"USD", 1},
                               {"g", 1},       {"kg", 1e3},  {"tokens/s", 1}, {"requests/s", 1}};
  for (const std::string_view per : {" per GPU", " per node", " per device"})
    if (unit.ends_with(per)) unit.remove_suffix(per.size());
  for (const Scale& s : kScales)
    if (s.unit == unit) return s.value;
  throw std::invalid_argument("a figure's unit has no scale");
}

// The figure of a table that is called `name`. Where several questions have figures of one name in
// different units, "goodput@train" is that of `train`, and the name alone the first one. Throws
// std::invalid_argument if there is none, which does not compile in a constant expression.
constexpr const Figure& figure_in(std::span<const Figure> table, std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view own = name.substr(0, at);
  for (const Figure& f : table)
    if (f.name == own && (at == name.npos || f.asked == name.substr(at + 1))) return f;
  throw std::invalid_argument("no figure has this name");
}

namespace figure_table {
using enum Better;
using enum Subject;

inline constexpr Figure kAll[] = {
    // Memory.
    {"memory", "GB per GPU", kLess, kOther, "estimate, train",
     "memory in use on one GPU, for the fullest rank at the moment of its peak"},
    {"weights", "GB per GPU", kNeither, kOther, "estimate",
     "memory of the model's weights on one GPU"},
    {"kv_cache_per_request", "GB", kLess, kOther, "estimate",
     "KV cache of one request at its end, summed over all GPUs"},
    {"max_concurrency", "requests", kMore, kOther, "estimate",
     "number of requests of this length whose KV caches fit at the same time"},
    {"request_tokens", "tokens", kNeither, kOther, "memory",
     "length of the longest request: max_model_len, or isl + osl if that is more"},
    {"kv_concurrency", "requests", kMore, kOther, "memory",
     "requests of request_tokens tokens for which the KV cache has blocks; vLLM logs it as "
     "\"Maximum concurrency\""},
    // Plans.
    {"chance", "%", kMore, kOther, "plan",
     "probability that the limits hold, over errors of the step times and other requests: the "
     "share of ten simulations in which they did"},
    {"in_time", "%", kMore, kOther, "plan",
     "probability that the run ends in plan.by, over the errors of the prediction and failures"},
    {"headroom", "%", kMore, kOther, "plan",
     "by how much the rate may grow until the limits are missed"},
    // Latency and throughput.
    {"ttft", "ms", kLess, kFirstToken, "estimate, simulate",
     "time to first token: from a request's arrival to its first token; mean over the requests"},
    {"ttft_priority_", "ms", kLess, kFirstToken, "simulate",
     "ttft of the requests of a priority: ttft_priority_0, ..."},
    {"ttft_class_", "ms", kLess, kFirstToken, "simulate",
     "ttft of the requests of a class of slo.classes: ttft_class_chat"},
    {"tpot_class_", "ms", kLess, kOther, "simulate",
     "tpot of the requests of a class of slo.classes"},
    {"e2e_class_", "ms", kLess, kOther, "simulate",
     "e2e of the requests of a class of slo.classes"},
    {"tpot", "ms", kLess, kOther, "estimate, simulate",
     "time per output token after the first: (e2e - ttft) / (osl - 1); mean"},
    {"e2e", "ms", kLess, kOther, "estimate, simulate",
     "end-to-end latency: from a request's arrival to its last token; mean"},
    {"prefill_time", "ms", kLess, kOther, "estimate",
     "time of the steps that compute the prompts of the batch"},
    {"output_throughput", "tokens/s", kMore, kRate, "estimate, simulate",
     "generated tokens per second"},
    {"total_throughput", "tokens/s", kMore, kRate, "estimate, simulate",
     "prompt tokens and generated tokens per second"},
    {"request_throughput", "requests/s", kMore, kRate, "estimate, simulate",
     "answered requests per second"},
    {"cost_per_hour", "USD", kLess, kCost, "estimate, simulate, train, kernel, network",
     "price of all GPUs for an hour; of a simulated fleet on average over the time"},
    {"cost_per_million_input_tokens", "USD", kLess, kCost, "estimate, simulate",
     "whole cost of the GPUs, in all their time, over the prompt tokens, in millions"},
    {"cost_per_million_output_tokens", "USD", kLess, kCost, "estimate, simulate",
     "whole cost of the GPUs, in all their time, over the generated tokens, in millions"},
    {"cost_per_million_tokens", "USD", kLess, kCost, "estimate, simulate",
     "whole cost of the GPUs, in all their time, over prompt and generated tokens, in millions"},
    {"cost_per_request", "USD", kLess, kCost, "estimate, simulate",
     "whole cost of the GPUs, in all their time, over the answered requests"},
    {"cost_per_million_calls", "USD", kLess, kCost, "kernel, network",
     "price of all GPUs for the time of a million calls that follow each other"},
    {"plant_power", "W", kNeither, kPlantPower, "estimate, simulate, train, kernel, network",
     "power of the whole deployment in energy.scope: its boards, its nodes at the wall, or the "
     "data centre; in simulate the mean"},
    {"plant_power_p99", "W", kNeither, kPlantPower, "simulate",
     "plant_power that the means of a second exceed in one second of a hundred"},
    {"plant_power_max", "W", kNeither, kPlantPower, "simulate",
     "the largest mean of plant_power over a second"},
    {"carbon_per_hour", "g", kLess, kCarbon, "estimate, simulate, train, kernel, network",
     "emissions of the deployment in an hour: electricity, and with energy.embodied of its boards"},
    {"carbon_per_million_output_tokens", "g", kLess, kCarbon, "estimate, simulate",
     "all emissions over the generated tokens, in millions"},
    {"carbon_per_request", "g", kLess, kCarbon, "estimate, simulate",
     "all emissions over the answered requests"},
    {"carbon_per_million_calls", "g", kLess, kCarbon, "kernel, network",
     "all emissions in the time of a million calls that follow each other"},
    {"deferred_carbon_per_request", "g", kLess, kCarbon, "estimate, simulate",
     "carbon_per_request if the run waits for the best hours of the series of energy.carbon"},
    {"embodied_carbon_per_hour", "g", kLess, kOther, "estimate, simulate, train, kernel, network",
     "what it took to make the boards, for an hour of their life; a part of carbon_per_hour"},
    {"carbon", "kg", kLess, kCarbon, "simulate, train", "all emissions of the run"},
    {"deferred_carbon", "kg", kLess, kCarbon, "simulate, train",
     "carbon if the run waits for the best hours of the series of energy.carbon"},
    {"power", "W", kNeither, kOther, "estimate, simulate, train",
     "mean power of the board of one GPU while it computes, in simulate also while it waits; "
     "without host, switches and cooling"},
    {"clock", "MHz", kNeither, kOther, "estimate, simulate, train, kernel, network",
     "mean clock of the multiprocessors while they compute, where a power limit or a clock is "
     "asked for"},
    {"energy", "kJ", kLess, kEnergy, "simulate",
     "energy of all GPUs' boards in the whole run; with energy.scope that of the nodes or the data "
     "centre"},
    {"energy", "MWh", kLess, kEnergy, "train",
     "energy of all GPUs' boards in the whole run; with energy.scope that of the nodes or the data "
     "centre"},
    {"energy_per_token", "J", kLess, kEnergy, "estimate, simulate, train",
     "energy of all GPUs' boards for one generated token, prompts included; of training for one "
     "token of the batch; with energy.scope that of the nodes or the data centre"},
    {"energy_per_request", "J", kLess, kEnergy, "estimate, simulate",
     "energy of all GPUs' boards for one request; with energy.scope that of the nodes or the data "
     "centre"},
    {"chip_area", "mm2", kNeither, kOther, "estimate", "area of the die of a chip of cores"},
    // Services.
    {"itl", "ms", kLess, kOther, "simulate",
     "inter-token latency: gap between two tokens of a request; mean over gaps"},
    {"itl_max", "ms", kLess, kOther, "simulate", "the longest gap between two tokens"},
    {"queue", "ms", kLess, kOther, "simulate",
     "time of a request in the scheduler's queue, until its first step; mean"},
    {"front_end", "ms", kLess, kOther, "simulate",
     "time of a request before the scheduler: tokenising, hashing and their queue; mean"},
    {"waiting_q1", "requests", kLess, kOther, "simulate",
     "mean number of requests in the schedulers' queues in the first quarter of the time"},
    {"waiting_q2", "requests", kLess, kOther, "simulate",
     "mean number of requests in the schedulers' queues in the second quarter of the time"},
    {"waiting_q3", "requests", kLess, kOther, "simulate",
     "mean number of requests in the schedulers' queues in the third quarter of the time"},
    {"waiting_q4", "requests", kLess, kOther, "simulate",
     "mean number of requests in the schedulers' queues in the last quarter of the time; it grows "
     "if the load exceeds the capacity"},
    {"duration", "s", kNeither, kOther, "simulate",
     "time from the first counted arrival to the last counted end"},
    {"goodput", "requests/s", kMore, kOther, "simulate",
     "requests per second that meet every limit of slo"},
    {"slo_attainment", "%", kMore, kOther, "simulate",
     "share of the requests that meet every limit of slo"},
    {"max_rate", "requests/s", kMore, kOther, "simulate",
     "the highest arrival rate at which slo is met"},
    {"busy", "%", kNeither, kOther, "simulate", "share of the engines' time in which a step runs"},
    {"mfu", "%", kMore, kOther, "simulate",
     "model FLOPs utilisation: 2 FLOPs per token and active parameter, over the GPU's peak in the "
     "same time"},
    {"bandwidth_use", "%", kMore, kOther, "simulate",
     "bytes of weights and KV cache that steps read, over the memory's bandwidth in the same time"},
    {"running", "sequences", kNeither, kOther, "simulate",
     "number of sequences that get a token in a step; mean over steps"},
    {"steps", "", kNeither, kOther, "simulate", "number of steps of all engines"},
    {"requests", "", kNeither, kOther, "simulate",
     "number of requests in the figures, without warm-up and cool-down"},
    {"rejected", "", kLess, kOther, "simulate",
     "number of requests that are refused, because they are longer than the context or the KV "
     "cache"},
    {"evictions", "", kLess, kOther, "simulate",
     "number of sequences that lost their KV cache and were computed again (preemption)"},
    {"stalls", "", kLess, kOther, "simulate",
     "number of decodes that waited during a step with prompts only"},
    {"kv_tokens", "tokens", kMore, kOther, "memory, simulate",
     "size of the KV cache in tokens; vLLM logs it as \"GPU KV cache size\""},
    {"kv_use", "%", kNeither, kOther, "simulate",
     "share of the KV cache in use, while engines are busy"},
    {"kv_waste", "%", kLess, kOther, "simulate",
     "share of the KV memory in use that holds no token"},
    {"kv_stranded", "%", kLess, kOther, "simulate",
     "share of the KV cache that is free, but only in holes that are too small for the next "
     "sequence"},
    {"prefix_hits", "%", kMore, kOther, "simulate",
     "share of the prompts' tokens that the prefix cache held"},
    {"host_kv_tokens", "tokens", kMore, kOther, "simulate",
     "size in tokens of the KV tier in host memory"},
    {"host_hits", "%", kMore, kOther, "simulate",
     "share of the prompts' tokens that came from host memory"},
    {"host_copy", "%", kLess, kOther, "simulate",
     "share of the busy time in which steps wait for copies from host memory"},
    {"disk_kv_tokens", "tokens", kMore, kOther, "simulate",
     "size in tokens of the KV tier on disk"},
    {"disk_hits", "%", kMore, kOther, "simulate",
     "share of the prompts' tokens that came from disk"},
    {"disk_waits", "%", kLess, kOther, "simulate",
     "share of the busy time in which steps wait for the disk"},
    // Prefill and decode apart, and fleets.
    {"kv_transfer", "ms", kLess, kOther, "simulate",
     "time from the end of a prompt until its KV cache is at the engine that decodes; mean"},
    {"kv_transfer_alone", "ms", kLess, kOther, "simulate",
     "kv_transfer with no other transfer on the links"},
    {"prefill_busy", "%", kNeither, kOther, "simulate",
     "share of the time in which a step runs on the engines that prefill"},
    {"decode_busy", "%", kNeither, kOther, "simulate",
     "share of the time in which a step runs on the engines that decode"},
    {"prefill_engines", "", kNeither, kOther, "simulate", "engines, those that prefill only"},
    {"decode_engines", "", kNeither, kOther, "simulate", "engines, those that decode only"},
    {"engines", "", kNeither, kOther, "simulate",
     "number of engines that run; mean over the time (autoscaling)"},
    {"most_engines", "", kNeither, kOther, "simulate", "largest number of engines at one time"},
    {"engine_starts", "", kNeither, kOther, "simulate",
     "number of engines that the autoscaler started"},
    {"gpu_hours", "h", kLess, kOther, "simulate, train",
     "hours of use (train: time_to_train), summed over all GPUs"},
    {"failures", "", kLess, kOther, "simulate, train",
     "number of failures: of engines in the simulated time, or of the job in its run"},
    {"retries", "", kLess, kOther, "simulate",
     "number of requests that were sent again because their engine failed"},
    // Techniques.
    {"accepted_length", "tokens/step", kMore, kOther, "simulate",
     "mean number of tokens of a verification: the accepted drafts and one more"},
    {"acceptance_rate", "%", kMore, kOther, "simulate",
     "share of the drafted tokens that are accepted"},
    {"speedup", "x", kMore, kOther, "simulate",
     "tpot without the technique over tpot with it, mean over requests"},
    {"speedup_e2e", "x", kMore, kOther, "simulate",
     "e2e without the technique over e2e with it, mean over requests"},
    {"tpot_overhead", "%", kLess, kOverhead, "simulate",
     "relative increase of tpot by the technique"},
    {"adapter_size", "MB per GPU", kNeither, kOther, "simulate", "size of one LoRA adapter"},
    {"adapter_load", "ms", kLess, kOther, "simulate",
     "time to copy one adapter from host memory to the GPU"},
    {"adapter_loads", "", kNeither, kOther, "simulate",
     "number of adapters copied to a GPU in the simulated time"},
    {"adapter_loading", "% of busy", kLess, kOther, "simulate",
     "share of the busy time in which steps wait for an adapter"},
    {"stretch", "x", kLess, kOther, "simulate",
     "factor on the step times of this service while it shares the GPUs with the other model"},
    {"neighbour_stretch", "x", kLess, kOther, "simulate",
     "factor on the step times of the other model while it shares the GPUs with this service"},
    {"neighbour_kv_tokens", "tokens", kMore, kOther, "simulate",
     "size of the other model's KV cache in tokens"},
    {"neighbour_tpot", "ms", kLess, kOther, "simulate", "tpot of the other model on the GPUs"},
    {"neighbour_tpot_overhead", "%", kLess, kOverhead, "simulate",
     "relative increase of the other model's tpot by sharing the GPUs"},
    // Training.
    {"iteration_time", "s", kLess, kOther, "train",
     "time of one iteration: a global batch and the optimizer's step"},
    {"iteration_time", "ms", kLess, kOther, "replay",
     "time of one iteration: a global batch and the optimizer's step"},
    {"throughput", "tokens/s", kMore, kRate, "train", "tokens per second of the whole job"},
    {"throughput_per_gpu", "tokens/s", kMore, kOther, "train", "tokens per second and GPU"},
    {"model_tflops", "TFLOP/s", kMore, kOther, "train", "model FLOPs per second and GPU"},
    {"mfu", "%", kMore, kOther, "train",
     "model FLOPs utilisation: model FLOPs, without recomputation, over the GPU's peak in the same "
     "time"},
    {"hfu", "%", kMore, kOther, "train",
     "hardware FLOPs utilisation: executed FLOPs, with recomputation, over the GPU's peak in the "
     "same time"},
    {"bubble", "%", kLess, kOther, "train",
     "share of the iteration in which the pipeline leaves a stage idle"},
    {"communication", "%", kLess, kOther, "train",
     "share of the iteration in which only communication runs"},
    {"tensor_exposed", "ms", kLess, kOther, "train",
     "time of exposed tensor-parallel communication"},
    {"context_exposed", "ms", kLess, kOther, "train",
     "time of exposed context-parallel communication"},
    {"expert_exposed", "ms", kLess, kOther, "train",
     "time of exposed exchanges of tokens with experts"},
    {"data_exposed", "ms", kLess, kOther, "train",
     "time of exposed communication of gradients and weights"},
    {"stragglers", "ms", kLess, kOther, "train",
     "time in which the median GPU waits for the slowest one of the job"},
    {"data_communication", "ms", kLess, kOther, "train",
     "time of communication of gradients and weights on the busiest stage, exposed or not"},
    {"data_overlap", "%", kMore, kOther, "train",
     "share of data_communication that overlaps with computation"},
    {"port_contention", "ms", kLess, kOther, "train",
     "time that an iteration takes longer because transfers of one rank share the ports of its "
     "node"},
    {"attention_block", "ms", kLess, kOther, "train",
     "time of attention of one layer and micro-batch, forward and backward"},
    {"attention_core", "ms", kLess, kOther, "train",
     "time of softmax(QK)V, a part of attention_block"},
    {"mlp_block", "ms", kLess, kOther, "train",
     "time of the MLP or the experts of one layer and micro-batch, forward and backward"},
    {"layer", "ms", kLess, kOther, "train",
     "time of one layer and micro-batch, forward and backward"},
    {"mlp_of_peak", "%", kMore, kOther, "train", "rate of the MLP's products over the GPU's peak"},
    {"mlp_flops", "TFLOP", kNeither, kOther, "train",
     "FLOPs of the MLP's products, of one layer and micro-batch"},
    {"layer_flops", "TFLOP", kNeither, kOther, "train", "FLOPs of one layer and micro-batch"},
    {"optimizer", "ms", kLess, kOther, "train", "time of the optimizer's step"},
    {"memory_reserved", "GB per GPU", kLess, kOther, "train",
     "memory that the framework's allocator holds at its peak, without context and libraries "
     "(torch.cuda.max_memory_reserved)"},
    {"memory_allocated", "GB per GPU", kLess, kOther, "train",
     "memory in tensors at its peak, without what the allocator reserves beyond them "
     "(torch.cuda.max_memory_allocated)"},
    {"activations", "GB per GPU", kLess, kOther, "train",
     "memory of the tensors that the backward pass needs from the forward pass"},
    {"fits", "%", kMore, kOther, "train",
     "chance that the job fits, from the scatter of measured memory"},
    {"host_memory", "GB per node", kLess, kOther, "train",
     "memory of a node's hosts for what is offloaded or paged to them"},
    {"trained_parameters", "M", kNeither, kOther, "train", "parameters that the optimizer updates"},
    {"max_micro_batch", "sequences", kMore, kOther, "train", "the largest micro-batch that fits"},
    {"peak_micro_batches", "of a chunk", kNeither, kOther, "train",
     "largest number of micro-batches whose activations a stage holds"},
    {"scaling_efficiency", "%", kMore, kOther, "train",
     "throughput_per_gpu over that of the first number of GPUs"},
    {"evaluation", "s", kLess, kOther, "train", "time of one evaluation"},
    {"time_to_train", "h", kLess, kOther, "train",
     "time of the whole run, with evaluations; with `chance` its mean with failures and "
     "checkpoints"},
    {"total_flops", "EFLOP", kNeither, kOther, "train", "model FLOPs of the whole run"},
    {"cost", "USD", kLess, kCost, "simulate, train",
     "cost of all GPUs until the end: gpu_hours times the price; of a simulated fleet its idle "
     "time too"},
    {"iteration_p50", "s", kLess, kOther, "train",
     "median of the iteration time over draws of stragglers, slow links and stalls"},
    {"iteration_p95", "s", kLess, kOther, "train", "iteration time that 5 % of the draws exceed"},
    {"time_to_train_p5", "h", kLess, kOther, "train",
     "time to train that 95 % of the draws exceed, with failures"},
    {"time_to_train_p50", "h", kLess, kOther, "train",
     "median of the time to train over the draws, with failures"},
    {"time_to_train_p95", "h", kLess, kOther, "train",
     "time to train that 5 % of the draws exceed, with failures"},
    {"goodput", "%", kMore, kOther, "train",
     "share of the run's time that is not lost to failures and checkpoints"},
    {"checkpoint_interval", "min", kNeither, kOther, "train",
     "time between checkpoints: the given one, or the best one"},
    // Networks.
    {"time", "us", kLess, kOther, "network, kernel",
     "time of the collective, the trace or the kernel"},
    {"algbw", "GB/s", kMore, kOther, "network",
     "algorithm bandwidth: bytes of the collective over its time"},
    {"busbw", "GB/s", kMore, kOther, "network",
     "bus bandwidth: algbw times the bytes that the busiest link sends for each byte (nccl-tests)"},
    {"bound", "us", kNeither, kOther, "network", "lower bound of the time on these links"},
    {"sms", "multiprocessors", kNeither, kOther, "network",
     "number of multiprocessors that the collective occupies"},
    {"power", "W", kNeither, kOther, "network",
     "mean power of the board of a GPU of the group during the call"},
    {"energy", "mJ", kLess, kEnergy, "network",
     "energy of all boards of the group during one call"},
    {"link_energy", "mJ", kLess, kOther, "network",
     "energy of the links of all GPUs of the group in one call, in train of all GPUs in an "
     "iteration, as far as sources state it; a part of what boards and nodes draw"},
    {"link_energy", "J", kLess, kOther, "train",
     "energy of the links of all GPUs of the group in one call, in train of all GPUs in an "
     "iteration, as far as sources state it; a part of what boards and nodes draw"},
    {"bit_energy_inside", "pJ", kLess, kOther, "network",
     "energy of a bit on its way to another GPU of the node"},
    {"bit_energy_between", "pJ", kLess, kOther, "network",
     "energy of a bit on its way to another node, over one leaf switch"},
    {"compute_slowdown", "times", kLess, kOther, "network",
     "factor on the time of computation that overlaps with the collective"},
    {"sent_inside", "MB", kNeither, kOther, "network", "bytes that a rank sends within its node"},
    {"sent_between", "MB", kNeither, kOther, "network", "bytes that a rank sends to other nodes"},
    {"computing", "us", kNeither, kOther, "network",
     "time of computation on the busiest rank of a trace"},
    {"exposed", "us", kLess, kOther, "network", "time of a trace in addition to its computation"},
    // Kernels.
    {"compute_roofline", "us", kNeither, kOther, "kernel",
     "FLOPs over the GPU's peak rate: a lower bound of the time"},
    {"memory_roofline", "us", kNeither, kOther, "kernel",
     "bytes over the memory's bandwidth: a lower bound of the time"},
    {"efficiency", "%", kMore, kOther, "kernel", "the longer of the two rooflines over the time"},
    {"rate", "TFLOP/s", kMore, kOther, "kernel", "FLOPs per second"},
    {"power", "W", kNeither, kOther, "kernel", "mean power of the GPU's board while the call runs"},
    {"energy", "mJ", kLess, kEnergy, "kernel", "energy of the GPU's board during the call"},
    {"peak_rate", "TFLOP/s", kNeither, kOther, "kernel",
     "peak rate of this number format in the GPU's data sheet"},
    {"bandwidth", "GB/s", kMore, kOther, "kernel", "bytes that the kernel must move, per second"},
    {"peak_bandwidth", "GB/s", kNeither, kOther, "kernel",
     "bandwidth of the memory in the GPU's data sheet"},
};
}  // namespace figure_table

inline constexpr std::span<const Figure> kFigures = figure_table::kAll;

// A figure of the table by its name, which the compiler looks up, or of a kind's own table.
class FigureRef {
 public:
  template <std::size_t kSize>
  consteval FigureRef(const char (&name)[kSize]) : figure_(&figure_in(kFigures, name)) {}
  constexpr FigureRef(const Figure& figure) : figure_(&figure) {}
  constexpr const Figure* operator->() const { return figure_; }

 private:
  const Figure* figure_;
};

// The figure of a kind's own table, which the compiler looks up.
template <const auto& kTable, std::size_t kSize>
consteval FigureRef own_figure(const char (&name)[kSize]) {
  return figure_in(kTable, name);
}

// The name of a percentile of a figure, from 0 to 100: "tpot_p95".
std::string percentile_name(std::string_view figure, double percentile);

// The figure that a user names. "ttft_p99" and "collocated_ttft" are those of ttft,
// "ttft_class_chat" that of ttft_class_. If several questions have the name, it is that of the
// first. Null if there is none.
const Figure* find_figure(std::string_view name);

}  // namespace orrery
