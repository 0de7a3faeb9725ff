#include "orrery/scenario/service_techniques.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/scenario/host_copy.h"
#include "orrery/serving/drafting_clock.h"
#include "orrery/serving/step_clock.h"

namespace orrery {
namespace {

// Schedulers ask for these in ways of their own; vLLM's is the one that does.
void needs_vllm(const Deployment& d, const char* what) {
  if (d.engine.scheduler.policy != "vllm")
    throw NoData(fmt::format("{}: simulated under the vllm policy only, not {}", what,
                             d.engine.scheduler.policy));
}

}  // namespace

ServiceTechniques::ServiceTechniques(const Scenario& s, const Architecture& model,
                                     const Deployment& d, const ParallelPlan& plan,
                                     const MemoryModel& memory,
                                     std::shared_ptr<const Drafter> drafter)
    : scenario_(s),
      memory_(memory),
      lora_(s.service.lora),
      kv_(s.service.kv),
      drafter_(std::move(drafter)),
      gpus_(plan.devices()),
      block_size_(d.engine.memory.block_size) {
  block_ = memory.kv_per_sequence(block_size_);
  if (drafter_) {
    needs_vllm(d, "speculation");
    beside_.push_back({"drafter", drafter_->weights});
    block_ += drafter_->block;
  }
  if (s.service.beam_width > 1) {
    needs_vllm(d, "load.beam_width");
    if (drafter_)
      throw NoData(
          "load.beam_width: vLLM's beam search asks for one token at a time: "
          "there are no drafts");
    if (s.service.samples > 1) throw InputError("load.beam_width: not beside load.samples");
    if (s.service.cluster.disaggregation.on())
      throw NoData("load.beam_width: not simulated with prefill and decode apart");
  }
  if (lora_.on()) {
    needs_vllm(d, "lora");
    adapter_ = adapter_size(model, plan, d.precision, lora_.shape());
    adapter_load_ = host_copy_time(d.gpu, adapter_.bytes, adapter_.tensors);
    beside_.push_back({"adapters", adapter_.bytes * static_cast<double>(lora_.on_gpu())});
  }
  if (kv_.contiguous()) {
    needs_vllm(d, "kv.allocator contiguous");
    if (drafter_) throw NoData("kv.allocator contiguous: not with speculation");
  }
  if (kv_.host_memory > Bytes(0)) {
    needs_vllm(d, "kv.host_memory");
    if (kv_.contiguous() || !d.engine.scheduler.prefix_caching)
      throw InputError("kv.host_memory: keeps what the prefix cache gives up, and there is none");
    block_copy_ = host_copy_time(d.gpu, block_, 0);
  }
}

std::int64_t ServiceTechniques::kv_blocks() const {
  Bytes taken;
  for (const MemoryRow& b : beside_) taken += b.size;
  return memory_.kv_blocks(taken, drafter_ ? drafter_->block : Bytes(0));
}

void ServiceTechniques::apply(SimulationConfig& c) const {
  ReplicaConfig& r = c.replica;
  r.kv_blocks = kv_blocks();
  r.speculation = scenario_.service.speculation.engine(c.seed);
  if (lora_.on()) {
    r.limits.max_loras = lora_.on_gpu();
    r.adapter_load = sim_time(adapter_load_);
  }
  if (kv_.contiguous()) {
    r.prefix_caching = false;
    r.kv.reserve = KvOptions::Reserve::kRequest;
    if (kv_.reserve == "max_model_len") {
      r.kv.reserve = KvOptions::Reserve::kMaxModelLen;
      if (r.limits.max_model_len == 0)
        throw InputError(
            "kv.reserve max_model_len: the model has none; set workload.max_model_len");
      if (r.kv_blocks * block_size_ < r.limits.max_model_len) {
        throw Infeasible(
            fmt::format("memory holds {} tokens: not one sequence of max_model_len {} fits",
                        r.kv_blocks * block_size_, r.limits.max_model_len));
      }
    }
  }
  if (kv_.host_memory > Bytes(0)) {
    r.kv.host_blocks =
        static_cast<std::int64_t>(kv_.host_memory / (block_ * static_cast<double>(gpus_)));
    r.host_block_copy = sim_time(block_copy_);
  }
}

void ServiceTechniques::describe(Point& p) const {
  if (drafter_) p.notes.push_back(drafter_note(scenario_.service.speculation, *drafter_));
  if (lora_.on()) {
    p.metrics.push_back(exact_metric("adapter_size", "MB per GPU", adapter_.bytes.value() / 1e6));
    p.metrics.push_back(exact_metric("adapter_load", "ms", adapter_load_.value() * 1e3));
    p.notes.push_back(
        "adapters: a step waits for those it must load; all others are in host memory");
  }
  if (scenario_.service.beam_width > 1) {
    p.notes.push_back(
        "beam search: rounds of one-token requests, as vLLM V1 does it; an answer is out at its "
        "end, "
        "ttft and tpot are those of its rounds");
  }
  if (kv_.host_memory > Bytes(0)) {
    p.metrics.push_back(
        exact_metric("host_kv_tokens", "tokens",
                     std::floor(kv_.host_memory / (block_ * static_cast<double>(gpus_))) *
                         static_cast<double>(block_size_)));
    p.notes.push_back(fmt::format(
        "host tier: {:.1f} GB/s a GPU; a step waits for the blocks it needs, copies out run beside",
        (block_ / block_copy_).value() / 1e9));
  }
}

MakeClock ServiceTechniques::clock(const StepModel& steps) const {
  const LoraShape lora = lora_.shape();
  if (!drafter_) {
    return
        [&steps, lora](StepScale scale) { return std::make_unique<StepClock>(steps, scale, lora); };
  }
  const Speculation speculation = scenario_.service.speculation.engine(0);
  return [&steps, lora, speculation,
          drafter = drafter_](StepScale scale) -> std::unique_ptr<StepTimer> {
    std::unique_ptr<StepTimer> drafting;
    if (drafter->steps) drafting = std::make_unique<StepClock>(*drafter->steps, scale);
    return std::make_unique<DraftingClock>(speculation,
                                           std::make_unique<StepClock>(steps, scale, lora),
                                           std::move(drafting), drafter->share);
  };
}

}  // namespace orrery
