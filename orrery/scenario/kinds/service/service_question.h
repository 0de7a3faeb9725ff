// The question about a simulated service: its load, its replicas and its SLO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/techniques.h"
#include "orrery/serving/figures/service_levels.h"
#include "orrery/serving/requests/load.h"

namespace orrery {

struct QuestionKind;

struct ServiceQuestion {
  // Requests of the load. Absent: 1,000 generated requests, or all requests of a trace. 0: all
  // requests of a trace.
  std::optional<std::int64_t> requests;
  std::string arrivals = "poisson";
  double rate = 1;             // requests a second
  bool find_max_rate = false;  // instead: the highest rate that meets the SLO
  ArrivalParameters arrival;   // its rate is not read
  std::int64_t max_concurrency = 0;
  std::string isl = "1024", osl = "128";  // as Lengths reads them
  std::int64_t shared_prefix = 0, prefix_groups = 1;
  std::int64_t samples = 1, beam_width = 1;
  std::vector<double> priorities;            // shares of priority 0, 1, ...; none: all alike
  std::string turns = "1", tool_time = "0";  // as Lengths reads them; tool_time in ms, or 0
  std::string trace;
  double time_scale = 1, length_scale = 1;
  Margins margins;
  std::int64_t seed = 0;

  std::int64_t repeat = 1;  // seeds simulated: seed, seed + 1, ...

  ClusterChoice cluster;
  SpeculationChoice speculation;
  LoraChoice lora;
  KvChoice kv;
  ColocatedModelChoice neighbour;

  ServiceLevels slo;

  // `requests` with its default: 0 means all requests of the trace.
  std::int64_t sent() const { return requests.value_or(trace.empty() ? 1000 : 0); }
};

// Defined by the kind (service_kind.cc).
const QuestionKind& kind_of(const ServiceQuestion& question);

// The groups `load`, `slo` and those of cluster_choice.h and techniques.h. `cost`: of the scenario.
void declare(Fields& fields, ServiceQuestion& service, const CostChoice& cost);

// The load of a service at `rate`. Adds the parts of a trace that were left out to `notes`. `rated`
// is set to whether the rate determines the arrivals; it does not if all requests arrive at once,
// or if a trace has arrivals. InputError: malformed lengths or arrivals, a trace that cannot be
// read, or a rate or arrivals in addition to those of a trace.
RequestLoad load_of(const ServiceQuestion& service, double rate, std::vector<std::string>& notes,
                    bool* rated = nullptr);

}  // namespace orrery
