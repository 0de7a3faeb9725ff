#include "orrery/scenario/bounds/serving_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "orrery/base/error.h"
#include "orrery/scenario/answer/bound_rows.h"

namespace orrery {
namespace {

// One pass of a batch through all stages, one after the other, on one rank of each.
struct StepBounds {
  Bytes weights, cache;
  Seconds compute;  // at the data sheet's peak
};

// Weights that the products read.
Bytes weights_of(const Op& op) {
  if (const auto* g = std::get_if<Gemm>(&op)) {
    if (!g->weight) return {};
    return static_cast<double>(g->batch * g->n * g->k) * properties(g->format).weight;
  }
  // The weights that any batch reads: the experts of one token.
  if (const auto* m = std::get_if<MoeExperts>(&op)) {
    const double elements = 1.0 * m->top_k * (m->gated ? 3 : 2) * m->hidden * m->intermediate;
    return elements / (m->tp * m->ep) * properties(m->format).weight;
  }
  return {};
}

// Keys and values that attention reads: the additional bytes of the same op with twice the context.
Bytes cache_of(const Op& op) {
  const auto grown = [](auto a) {
    const Bytes before = bytes(Op(a));
    a.context *= 2;
    return bytes(Op(a)) - before;
  };
  if (const auto* a = std::get_if<DecodeAttention>(&op)) return grown(*a);
  if (const auto* a = std::get_if<LatentAttentionCore>(&op)) return a->decode ? grown(*a) : Bytes();
  return {};
}

StepBounds pass_of(const ServedModel& s, const SequenceGroup& group) {
  StepBounds pass;
  const Gpu& gpu = s.deployment.gpu;
  for (int stage = 0; stage < s.plan.pp; ++stage) {
    ProgramOptions options;
    options.stage = stage;
    Batch batch;
    batch.groups = {group};
    for (const ProgramOp& op :
         forward_program(s.model, s.plan, s.deployment.precision, batch, options).ops) {
      pass.weights += op.count * weights_of(op.op);
      pass.cache += op.count * cache_of(op.op);
      if (flops(op.op) > Flops(0))
        pass.compute += op.count * flops(op.op) / gpu.peak(gpu.compute_dtype(arithmetic(op.op)));
    }
  }
  return pass;
}

class ServingBounds {
 public:
  ServingBounds(const ServedModel& s, const LeastRequests& least, Point& p)
      : s_(s), least_(least), p_(p), gpu_(s.deployment.gpu) {
    SequenceGroup prompt;
    prompt.new_tokens = std::max<std::int64_t>(1, std::llround(least.isl - least.cached));
    prompt.past = least.cached;
    prompt_ = pass_of(s, prompt);
    SequenceGroup token;
    token.past = std::max(1.0, least.isl);
    token_ = pass_of(s, token);
  }

  void add() {
    bound_common(p_);
    add_memory();
    if (least_.same_layout) add_times();
    if (least_.same_layout) add_rates();
  }

 private:
  Seconds reading(Bytes bytes) const {
    const Bytes kept = s_.plan.pp * (gpu_.l2.value_or(Bytes(0)) + gpu_.l3.value_or(Bytes(0)));
    return std::max(Bytes(0), bytes - kept) / gpu_.memory.bandwidth;
  }
  // Lower bounds of the time of the first token and of a later one.
  Seconds first() const { return std::max(prompt_.compute / s_.plan.pp, reading(prompt_.weights)); }
  Seconds step() const { return reading(token_.weights + token_.cache); }
  Seconds later() const { return step() / least_.a_step; }
  Seconds whole() const { return first() + (least_.osl - 1) * later(); }

  std::string first_text() const {
    return fmt::format("{:.4g} ms of FLOPs at the peak, {:.4g} GB of weights a GPU at {:.4g} TB/s",
                       prompt_.compute.value() / s_.plan.pp * 1e3, prompt_.weights.value() / 1e9,
                       gpu_.memory.bandwidth.value() / 1e12);
  }
  std::string step_text() const {
    std::string text =
        fmt::format("{:.4g} GB of weights and {:.4g} GB of KV cache a GPU at {:.4g} TB/s",
                    token_.weights.value() / 1e9, token_.cache.value() / 1e9,
                    gpu_.memory.bandwidth.value() / 1e12);
    if (least_.a_step > 1) text += fmt::format(", {} tokens a step", least_.a_step);
    return text;
  }

  void add_times() {
    for (const std::string from : {"", "collocated_"}) {
      for (const char* part : {"", "_p50", "_p90", "_p99"}) {
        bound_below(p_, from + "ttft" + part, first().value() * 1e3, first_text());
        bound_below(p_, from + "tpot" + part, later().value() * 1e3, step_text());
        bound_below(p_, from + "e2e" + part, whole().value() * 1e3,
                    fmt::format("{:.4g} ms to the first token and {} steps", first().value() * 1e3,
                                (least_.osl - 1) / least_.a_step));
      }
    }
    bound_below(p_, "prefill_time", first().value() * 1e3, first_text());
    if (least_.a_step > 1) return;  // several tokens come at once
    for (const char* gap : {"itl", "itl_p50", "itl_p90", "itl_p99", "itl_max"})
      bound_below(p_, gap, later().value() * 1e3, step_text());
  }

  void add_rates() {
    const double ways = least_.replicas * s_.plan.dp * s_.plan.pp;  // that compute side by side
    const double request =
        std::min(least_.together / whole().value(),
                 ways / (prompt_.compute + (least_.osl - 1) * token_.compute).value());
    const std::string why =
        fmt::format("at most {} requests under way, each {:.4g} ms at least; all FLOPs at the peak",
                    least_.together, whole().value() * 1e3);
    for (const char* rate : {"request_throughput", "goodput", "collocated_goodput", "max_rate"})
      bound_above(p_, rate, request, why);
    // A prompt's pass yields a token as well.
    const Seconds slot = std::min(first(), later());
    const double tokens = std::min(least_.together / slot.value(), ways / token_.compute.value());
    bound_above(
        p_, "output_throughput", tokens,
        fmt::format("at most {} sequences under way, each token {:.4g} ms at least; all FLOPs at "
                    "the peak",
                    least_.together, slot.value() * 1e3));
  }

  void add_memory() {
    for (const char* count : {"weights", "kv_cache_per_request", "adapter_size"})
      bound_counted(p_, count);
    const MemoryBreakdown one = s_.memory->load(1, 1);
    const double gpus = s_.plan.devices();
    const double room = std::max(0.0, (gpu_.usable_memory() - one.weights).value()) * gpus;
    bound_below(p_, "memory", (1 - kCounted) * one.weights.value() / 1e9, "at least the weights");
    const std::string why =
        fmt::format("{:.4g} GB without the weights of {} GPUs", room / 1e9, gpus);
    const Metric* request = p_.find("kv_cache_per_request");
    if (request != nullptr && request->value > 0)
      bound_above(p_, "max_concurrency", room / (request->value * 1e9), why);
    // The bytes of a long sequence, in which windows and states of fixed size hardly count.
    const double token =
        (s_.memory->kv_of_model(8192) - s_.memory->kv_of_model(4096)).value() / 4096;
    if (token > 0)
      bound_above(p_, "kv_tokens", room / token,
                  fmt::format("{}, {:.4g} kB a token", why, token / 1e3));
    const Metric* adapter = p_.find("adapter_size");
    if (adapter != nullptr && gpu_.host_link.bandwidth)
      bound_below(p_, "adapter_load", adapter->value * 1e9 / gpu_.host_link.bandwidth->value(),
                  fmt::format("{:.4g} MB over the host's link of {:.4g} GB/s", adapter->value,
                              gpu_.host_link.bandwidth->value() / 1e9));
  }

  const ServedModel& s_;
  const LeastRequests& least_;
  Point& p_;
  const Gpu& gpu_;
  StepBounds prompt_, token_;
};

}  // namespace

void bound_requests(const ServedModel& served, const LeastRequests& least, Point& p) {
  ServingBounds(served, least, p).add();
}

}  // namespace orrery
