#include "orrery/scenario/kinds/service/service_techniques.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/host_copy.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/schedulers/scheduler_kinds.h"
#include "orrery/serving/steps/drafting_clock.h"
#include "orrery/serving/steps/step_clock.h"

namespace orrery {
namespace {

// Throws NoData unless the deployment's scheduler has the technique, which messages call `what`.
void needs(const Deployment& d, bool SchedulerTraits::* technique, std::string_view what) {
  const std::string& policy = d.engine.scheduler.policy;
  if (scheduler_kind(policy).traits.*technique) return;
  const std::vector<std::string> policies = schedulers_with(technique);
  throw NoData(fmt::format("{}: simulated under the scheduler{} {}, not {}", what,
                           policies.size() > 1 ? "s" : "", fmt::join(policies, ", "), policy));
}

}  // namespace

ServiceTechniques::ServiceTechniques(const ServiceQuestion& s, const ServedModel& served,
                                     std::shared_ptr<const Drafter> drafter)
    : service_(s),
      memory_(*served.memory),
      lora_(s.lora),
      kv_(s.kv),
      drafter_(std::move(drafter)),
      gpus_(served.plan.devices()),
      block_size_(served.deployment.engine.memory.block_size) {
  const Deployment& d = served.deployment;
  block_ = memory_.kv_block();
  if (drafter_) {
    needs(d, &SchedulerTraits::drafts, "speculation");
    if (served.plan.pp > 1)
      throw NoData(
          "speculation: not supported with pipeline stages, because neither vLLM (V1), "
          "TensorRT-LLM nor SGLang combines them");
    check_drafts(d.engine.scheduler);
    beside_.push_back({"drafter", drafter_->weights});
    block_ += drafter_->block;
  }
  if (s.beam_width > 1) {
    needs(d, &SchedulerTraits::beam_search, "load.beam_width");
    if (drafter_)
      throw NoData(
          "load.beam_width: not supported with speculation, because vLLM's beam search requests "
          "one "
          "token at a time");
    if (s.samples > 1) throw InputError("load.beam_width: not supported with load.samples");
    if (s.cluster.disaggregation.on())
      throw NoData("load.beam_width: not simulated with disaggregated prefill and decode");
  }
  if (lora_.on()) {
    needs(d, lora_.paged() ? &SchedulerTraits::adapter_pages : &SchedulerTraits::adapter_slots,
          lora_.paged() ? "lora.memory paged (S-LoRA)" : "lora");
    if (lora_.paged() && lora_.slots > 0)
      throw InputError("lora.slots: not supported with lora.memory paged");
    adapter_ = adapter_size(served.model, served.plan, d.precision, lora_.shape());
    adapter_load_ = host_copy_time(d.gpu, adapter_.bytes, adapter_.tensors);
    if (!lora_.paged())
      beside_.push_back({"adapters", adapter_.bytes * static_cast<double>(lora_.on_gpu())});
  }
  if (kv_.contiguous()) {
    needs(d, &SchedulerTraits::contiguous_kv, "kv.allocator contiguous");
    if (s.cluster.disaggregation.on())
      throw NoData("kv.allocator contiguous: not simulated with disaggregated prefill and decode");
  }
  if (kv_.tiers()) {
    const std::string key = kv_.host_memory > Bytes(0) ? "kv.host_memory" : "kv.disk_memory";
    needs(d, &SchedulerTraits::cache_tiers, key);
    if (kv_.contiguous() || !d.engine.scheduler.prefix_caching)
      throw InputError(key + ": keeps what the prefix cache gives up, and there is none");
    block_copy_ = host_copy_time(d.gpu, block_, 0);
    disk_write_ = block_ * static_cast<double>(gpus_) / kv_.disk_bandwidth;
  }
}

std::int64_t ServiceTechniques::kv_blocks() const {
  Bytes taken;
  for (const MemoryRow& b : beside_) taken += b.size;
  return memory_.kv_blocks(taken, drafter_ ? drafter_->block : Bytes(0));
}

double ServiceTechniques::blocks_in(Bytes memory) const {
  return std::floor(memory / (block_ * static_cast<double>(gpus_)));
}

Bytes ServiceTechniques::drafter_kv(std::int64_t tokens) const {
  if (!drafter_) return Bytes(0);
  return drafter_->block * static_cast<double>(KvGroups::rows(tokens, block_size_));
}

void ServiceTechniques::apply(ReplicaConfig& r, std::uint64_t seed) const {
  r.kv_blocks = kv_blocks();
  r.speculation = service_.speculation.engine(seed);
  if (lora_.on()) {
    r.adapter_load = sim_time(adapter_load_);
    if (lora_.paged()) {
      r.kv.adapter_blocks = static_cast<std::int64_t>(std::ceil(adapter_.bytes / block_));
    } else {
      r.kv.adapter_slots = lora_.on_gpu();
    }
  }
  if (kv_.contiguous()) {
    r.engine.scheduler.prefix_caching = false;
    r.kv.reserve = KvOptions::Reserve::kRequest;
    if (kv_.reserve == "max_model_len") {
      r.kv.reserve = KvOptions::Reserve::kMaxModelLen;
      if (r.kv.max_model_len == 0)
        throw InputError(
            "kv.reserve max_model_len: the model states no length; set workload.max_model_len");
      if (r.kv_blocks * block_size_ < r.kv.max_model_len) {
        throw Infeasible(
            fmt::format("memory holds {} tokens: not one sequence of max_model_len {} fits",
                        r.kv_blocks * block_size_, r.kv.max_model_len));
      }
    }
  }
  if (kv_.tiers()) {
    r.kv.host_blocks = static_cast<std::int64_t>(blocks_in(kv_.host_memory));
    r.kv.disk_blocks = static_cast<std::int64_t>(blocks_in(kv_.disk_memory));
    r.host_block_copy = sim_time(block_copy_);
    // Through host memory: the slower of the two sets the pace.
    r.disk_block_read = sim_time(std::max(disk_write_, block_copy_));
    r.disk_block_write = sim_time(disk_write_);
  }
}

void ServiceTechniques::describe(Point& p) const {
  if (drafter_) p.notes.push_back(drafter_note(service_.speculation, *drafter_));
  if (lora_.on()) {
    p.metrics.push_back(exact_metric("adapter_size", adapter_.bytes.value() / 1e6));
    p.metrics.push_back(exact_metric("adapter_load", adapter_load_.value() * 1e3));
    p.notes.push_back(
        lora_.paged()
            ? "adapters: in the KV cache's blocks from the first sequence that needs one "
              "to the last; a step waits for those it must load"
            : "adapters: a step waits for those it must load; all others are in host memory");
  }
  if (service_.beam_width > 1) {
    p.notes.push_back(
        "beam search as in vLLM V1, by rounds of one-token requests: an answer is complete at its "
        "end, and ttft and tpot are those of rounds");
  }
  const auto put_tokens = [&](FigureRef figure, Bytes memory) {
    p.metrics.push_back(exact_metric(figure, blocks_in(memory) * static_cast<double>(block_size_)));
  };
  if (kv_.disk_memory > Bytes(0)) {
    put_tokens("disk_kv_tokens", kv_.disk_memory);
    p.notes.push_back(
        fmt::format("disk tier: {:.1f} GB/s for each engine, reads and writes one after the other; "
                    "a step waits "
                    "for the blocks that it needs",
                    kv_.disk_bandwidth.value() / 1e9));
  }
  if (kv_.host_memory > Bytes(0)) {
    put_tokens("host_kv_tokens", kv_.host_memory);
    p.notes.push_back(
        fmt::format("host tier: {:.1f} GB/s for each GPU; a step waits for the blocks that it "
                    "needs; copies to the "
                    "host overlap with steps",
                    (block_ / block_copy_).value() / 1e9));
  }
}

MakeClock ServiceTechniques::clock(const StepModel& steps) const {
  const LoraShape lora = lora_.shape();
  if (!drafter_) {
    return
        [&steps, lora](StepScale scale) { return std::make_unique<StepClock>(steps, scale, lora); };
  }
  const Speculation speculation = service_.speculation.engine(0);
  return [&steps, lora, speculation,
          drafter = drafter_](StepScale scale) -> std::unique_ptr<StepTimer> {
    std::unique_ptr<StepTimer> drafting;
    if (drafter->steps() != nullptr)
      drafting = std::make_unique<StepClock>(*drafter->steps(), scale);
    return std::make_unique<DraftingClock>(speculation,
                                           std::make_unique<StepClock>(steps, scale, lora),
                                           std::move(drafting), drafter->share);
  };
}

}  // namespace orrery
