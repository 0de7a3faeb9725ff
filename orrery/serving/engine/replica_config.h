// An engine as it is simulated: its profile, its layout over GPUs, its memory and its techniques.
#pragma once

#include <cstdint>

#include "orrery/serving/requests/sim_time.h"
#include "orrery/serving/state/kv_memory.h"
#include "orrery/serving/steps/speculation.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

enum class Role : std::uint8_t { kServe, kPrefill, kDecode };

struct ReplicaConfig {
  // The profile, with the defaults that it takes on its GPUs: the scheduler with its parameters,
  // the block size, the front end, and the additional times of first steps.
  EngineProfile engine;
  ParallelPlan plan;           // dp: ranks of attention data parallelism; pp: pipeline stages
  std::int64_t kv_blocks = 0;  // of one rank
  KvOptions kv;                // of one rank
  Role role = Role::kServe;
  Speculation speculation;
  // Time of copying a LoRA adapter from the host. A step waits for the adapters that it needs and
  // that are not on the GPU (vLLM loads them before the step). kv.adapter_slots of them are on the
  // GPU, or those in the KV pool (KvOptions::adapter_blocks).
  SimTime adapter_load;
  SimTime host_block_copy;  // copy of a KV block from host memory, for which the step waits
  SimTime disk_block_read, disk_block_write;  // of a KV block; a disk works on one after the other

  // Whether a step is planned while the one before it runs. Stages have steps under way instead.
  bool async() const { return engine.scheduler.async_scheduling && plan.pp == 1; }
  // Time of the front end for each token (delivery.h), and the additional time for each token of
  // the answer before it. With the latter decodes are no group.
  SimTime delivery() const { return sim_time(engine.execution.delivery()); }
  SimTime delivery_per_past_token() const {
    return sim_time(engine.execution.delivery(1)) - delivery();
  }
  // Tokens that the KV memory of a rank holds if no window gives blocks back.
  std::int64_t kv_tokens() const {
    return kv_blocks / (kv.groups.separate_pools() ? 1 : kv.groups.count()) *
           engine.memory.block_size;
  }
  bool adapters() const { return kv.adapter_slots > 0 || kv.adapter_blocks > 0; }
};

}  // namespace orrery
