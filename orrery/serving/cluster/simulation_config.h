// The question and the answer of a simulation of a service.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/serving/cluster/autoscaler.h"
#include "orrery/serving/cluster/beam_search.h"
#include "orrery/serving/cluster/failures.h"
#include "orrery/serving/cluster/fleet.h"
#include "orrery/serving/cluster/gap_histogram.h"
#include "orrery/serving/cluster/kv_transfer.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/requests/work_meter.h"

namespace orrery {

// The first pool of engines, further pools, and what connects them. The front end that requests
// pass first is that of the first pool's engine.
struct SimulationConfig : PoolConfig {
  std::vector<PoolConfig> others;  // further pools behind the same router
  std::string router = "round-robin";
  // Disaggregated prefill: the router that chooses the engine that decodes.
  std::string decode_router = "least-outstanding";
  // Routers see the load of engines as of the last multiple of this time (engine_view.h). 0: as of
  // now.
  Seconds router_refresh;
  KvTransfer transfer;  // from pools that prefill to pools that decode
  Autoscale autoscale;  // of the first pool. REQUIRES no other pool but with disaggregated prefill
  Failures failures;
  std::uint64_t seed = 0;
  // Closed loop: most requests that are sent and not yet answered. The next request is sent when
  // one ends, or at its arrival if that is later. Of conversations, most that are under way, the
  // time between their turns included. 0: no limit.
  std::int64_t max_concurrency = 0;
  Beams beams;                 // REQUIRES no drafts and no disaggregated prefill
  WorkMeter* meter = nullptr;  // counts the requests that have entered; null: none does
  StepLog* steps = nullptr;    // receives every step; null: steps are not recorded
  // Steps are counted in windows of this length (step_windows.h). 0: they are not.
  SimTime window;

  std::size_t pools() const { return 1 + others.size(); }
  const PoolConfig& pool(std::size_t i) const { return i == 0 ? *this : others[i - 1]; }
};

struct SimulationResult {
  std::vector<RequestRecord> records;   // in the order of the load
  std::vector<ReplicaCounts> replicas;  // pool by pool
  GapHistogram gaps;                    // times between the tokens of a request (ITL)
  SimTime end;                          // time of the last token
  // Pool of each entry of `replicas`. An elastic pool has room for more engines than it begins
  // with.
  std::vector<std::size_t> pool_of;
  // Time until `end` in which the engines of each pool were not off, summed over them.
  std::vector<Seconds> engine_times;
  Seconds gpu_time;                                    // of the GPUs of these engines, in all pools
  std::vector<StepWindows> windows;                    // of each pool; none: not asked for
  std::int64_t most_engines = 0;                       // most engines present at once
  std::int64_t starts = 0, failures = 0;               // of engines, after time 0
  std::int64_t transfers = 0, transferred_tokens = 0;  // KV caches moved between engines
  Seconds link_time;  // sum of the durations of transfers without waiting
  ReplicaCounts total() const;
  ReplicaCounts of_pool(std::size_t pool) const;
  Seconds engine_time() const;  // of all pools
};

// Throws InputError if the configuration contradicts itself or names a pool without engines, or if
// requests are not in order of arrival.
void check(const SimulationConfig& config, const RequestLoad& load);

// Whether some pool prefills or decodes only (disaggregated prefill).
bool disaggregated(const SimulationConfig& config);

}  // namespace orrery
