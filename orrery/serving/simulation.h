// Discrete-event simulation of a service: requests arrive, a router deals them to replicas, each
// replica runs step after step.
//
// Events are ordered by (time, arrivals before step ends, sequence): the same input gives the same
// bytes. Requests that can never run (longer than the model's context or than the whole KV cache)
// are turned away and counted, never waited for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/serving/gap_histogram.h"
#include "orrery/serving/replica.h"
#include "orrery/serving/request.h"
#include "orrery/serving/step_timer.h"

namespace orrery {

struct SimulationConfig {
  ReplicaConfig replica;
  std::string scheduler = "vllm";
  std::int64_t replicas = 1;
  std::string router = "round-robin";
  std::uint64_t seed = 0;
  // At most so many requests are sent and not yet answered; the next goes out when one ends, or at
  // its arrival if that is later. 0: no limit.
  std::int64_t max_concurrency = 0;
  // From a request's arrival until it is in the engine's queue: what the front end takes for one
  // after the other, and what it waits besides.
  SimTime frontend_per_request, request_overhead;
};

struct SimulationResult {
  std::vector<RequestRecord> records;  // in the order of the load
  std::vector<ReplicaCounts> replicas;
  GapHistogram gaps;  // between a request's tokens (ITL)
  SimTime end;        // the last token of all
  ReplicaCounts total() const;
};

// InputError: unknown names, a load out of order, no replica. Internal error if the simulation
// cannot go on though requests wait (a scheduler that plans nothing).
SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          StepTimer& timer);

}  // namespace orrery
