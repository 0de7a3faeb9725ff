// Discrete-event simulation of a service: requests arrive, a router deals them to replicas, each
// replica (an Engine) runs step after step.
//
// Events are ordered by (time; arrivals, changes of the fleet, KV transfers, beams, step ends;
// sequence):
// the same input gives the same bytes. Requests that can never run (longer than the model's context
// or than the whole KV cache) are turned away and counted, never waited for.
//
// Prefill and decode apart: pools with Role::kPrefill and Role::kDecode. A request goes to an
// engine that prefills, which makes its first token; then to one that decodes, chosen by the second
// router; its KV cache follows (kv_transfer.h), and stays with the first engine until it has moved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/serving/cluster/autoscaler.h"
#include "orrery/serving/cluster/beam_search.h"
#include "orrery/serving/cluster/fleet.h"
#include "orrery/serving/cluster/gap_histogram.h"
#include "orrery/serving/cluster/kv_transfer.h"
#include "orrery/serving/requests/request.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

// The first pool of engines, and what they do together.
struct SimulationConfig : PoolConfig {
  std::vector<PoolConfig> others;  // further pools, behind the same router
  std::string router = "round-robin";
  std::string decode_router = "least-outstanding";
  // Routers see loads as of the last multiple of it; 0: as they are (engine_view.h).
  SimTime router_refresh;
  KvTransfer transfer;  // used between pools that prefill and pools that decode
  Autoscale autoscale;  // of a single pool
  Failures failures;    // not where prefill and decode are apart
  std::uint64_t seed = 0;
  // At most so many requests are sent and not yet answered; the next goes out when one ends, or at
  // its arrival if that is later. Of requests that follow each other so many conversations are
  // under way, the time between their turns included. 0: no limit.
  std::int64_t max_concurrency = 0;
  // From a request's arrival until it is in the engine's queue: what the front end takes for one
  // after the other, and what it waits besides, once and for each token of its prompt. Requests do
  // not overtake each other.
  SimTime frontend_per_request, request_overhead, overhead_per_prompt_token;
  Beams beams;               // not with drafts, nor where prefill and decode are apart
  StepLog* steps = nullptr;  // every step is written there

  std::size_t pools() const { return 1 + others.size(); }
};

struct SimulationResult {
  std::vector<RequestRecord> records;     // in the order of the load
  std::vector<ReplicaCounts> replicas;    // pool by pool
  GapHistogram gaps;                      // between a request's tokens (ITL)
  SimTime end;                            // the last token of all
  Seconds engine_time, gpu_time;          // of engines that were not off, until then
  std::int64_t most_engines = 0;          // present at once
  std::int64_t starts = 0, failures = 0;  // of engines, after the beginning
  std::int64_t transfers = 0, transferred_tokens = 0;
  Seconds link_time;  // sum of what transfers alone would take
  ReplicaCounts total() const;
};

// `timers`: one for each pool. InputError: unknown names, a load out of order, no replica, parts
// that do not go together. Internal error if the simulation cannot go on though requests wait (a
// scheduler that plans nothing).
SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          std::span<StepTimer* const> timers);
// The same timer for all pools.
SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          StepTimer& timer);

}  // namespace orrery
