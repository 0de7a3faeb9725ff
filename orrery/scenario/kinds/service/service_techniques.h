// The effect of a service's techniques (techniques.h) on the engine's configuration, on the clock,
// and on the memory that is left for the KV cache.
#pragma once

#include <memory>
#include <vector>

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/service/drafter.h"
#include "orrery/scenario/kinds/service/service_answer.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/workload/inference/lora_ops.h"

namespace orrery {

class ServiceTechniques {
 public:
  // Borrows the question and the memory of the served model. `drafter`: nullptr where nothing
  // drafts. InputError, NoData: techniques that do not go together, or not with the engine's
  // scheduler.
  ServiceTechniques(const ServiceQuestion& service, const ServedModel& served,
                    std::shared_ptr<const Drafter> drafter);

  // Taken from the room for the KV cache, on one GPU.
  const std::vector<MemoryRow>& beside() const { return beside_; }
  std::int64_t kv_blocks() const;
  // Applies the techniques to the configuration of an engine whose limits are set. `seed`: of the
  // acceptance of drafts. InputError: kv.reserve without max_model_len. Infeasible: not one
  // sequence fits.
  void apply(ReplicaConfig& config, std::uint64_t seed) const;
  // Metrics and notes that do not need a simulation.
  void describe(Point& point) const;
  // KV cache of the drafter that goes with `tokens` tokens, on one GPU.
  Bytes drafter_kv(std::int64_t tokens) const;
  // Borrows `steps`.
  MakeClock clock(const StepModel& steps) const;
  // Whether requests are compared with those of the service without drafts and adapters.
  bool compared() const { return drafter_ || lora_.on(); }

 private:
  // Number of KV blocks of a replica, over all its GPUs, that `memory` holds.
  double blocks_in(Bytes memory) const;

  const ServiceQuestion& service_;
  const MemoryModel& memory_;
  const LoraChoice& lora_;
  const KvChoice& kv_;
  std::shared_ptr<const Drafter> drafter_;
  std::vector<MemoryRow> beside_;
  Bytes block_;  // one block of the KV cache, the drafter's part included
  AdapterSize adapter_;
  Seconds adapter_load_, block_copy_, disk_write_;
  std::int64_t gpus_;
  std::int64_t block_size_;
};

}  // namespace orrery
