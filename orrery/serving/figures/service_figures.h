// The figures of a simulated service: how long its requests took, and how it used its engines,
// their memory and its techniques.
//
// Shares lie between 0 and 1, and rates are per second. A figure is absent if there is nothing to
// measure: no request has ended, or the service does not use the technique.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/serving/cluster/simulation_config.h"
#include "orrery/serving/figures/service_levels.h"

namespace orrery {

// The mean of a sample, and percentiles of it with their places, from 0 to 100.
template <class Q>
struct Distribution {
  Q mean{};
  std::vector<std::pair<double, Q>> percentiles;
};
using TimeDistribution = std::optional<Distribution<Seconds>>;

// Percentiles 50, 90 and 99, and the one at which a limit holds.
struct RequestTimes {
  TimeDistribution ttft, tpot, e2e;
};

struct ServiceFigures {
  // The requests that are counted, without warm-up and cool-down.
  std::int64_t counted = 0, done = 0;
  double input_tokens = 0, output_tokens = 0, cached_tokens = 0;  // of those done
  RequestTimes times;
  std::map<std::int32_t, Distribution<Seconds>> ttft_of_priority;  // none: all have the same one
  struct Class : RequestTimes {
    std::string name;
  };
  std::vector<Class> classes;        // of ServiceLevels::classes; only times that have a limit
  TimeDistribution queue;            // from the end of the front end to the first step
  std::optional<Seconds> front_end;  // mean time before the scheduler
  // From the first counted arrival to the last counted end.
  struct Rates {
    Seconds duration;
    double requests = 0, output = 0, tokens = 0;
    std::array<double, 4> waiting{};  // requests in queues, mean over each quarter of the duration
  };
  std::optional<Rates> rates;
  std::optional<double> attainment, goodput;  // requests that keep all limits: share, rate
  // Whether the counted requests keep each limit at its percentile, and none was turned away.
  bool meet_slo = false;

  TimeDistribution gaps;  // between tokens of a request, of all requests
  std::optional<Seconds> longest_gap;

  // The engines, in the whole time.
  ReplicaCounts counts;
  Seconds engine_time;            // in which they were not off
  std::optional<double> busy;     // share of that time
  std::optional<double> running;  // sequences of a step
  // Shares of the KV blocks: in use, and free but of use to no sequence. Share of the memory in use
  // that holds no token.
  std::optional<double> kv_use, kv_stranded, kv_waste;
  std::optional<double> prefix_hits, host_hits, disk_hits;  // shares of the prompts' tokens
  // Share of the busy time in which steps wait for copies from the host, the disk, of adapters.
  std::optional<double> host_copy, disk_waits, adapter_loading;
  std::optional<double> accepted_length;  // tokens of a verification of drafts
  std::optional<double> acceptance_rate;  // share of the drafts

  // Disaggregated prefill.
  TimeDistribution transfer;              // from the end of a prompt until its KV cache has moved
  std::optional<Seconds> transfer_alone;  // mean on idle links
  struct Pool {
    bool prefills = false;          // else it decodes
    double busy = 0;                // share of its engines' time
    std::optional<double> engines;  // mean number; absent: it does not change
  };
  std::vector<Pool> pools;
  struct Scaling {
    double engines = 0;  // mean number
    std::int64_t most = 0, starts = 0;
    Seconds gpu_time;
  };
  std::optional<Scaling> scaling;
  struct Losses {
    std::int64_t failures = 0, retries = 0;
  };
  std::optional<Losses> losses;
};

// The figures of one simulation. `levels` and `margins` are the question's, and `config` is the
// configuration that `result` was simulated with.
ServiceFigures service_figures(const ServiceLevels& levels, Margins margins,
                               const SimulationConfig& config, const SimulationResult& result);

// How much faster requests are than the same requests in another simulation of their load. Requests
// that did not end in both are left out.
struct Speedup {
  std::optional<Distribution<double>> tpot;  // its TPOT / TPOT; percentiles 10, 50 and 90
  std::optional<double> e2e;                 // mean of its E2E / E2E
  std::optional<double> tpot_overhead;       // relative growth of the mean TPOT
};
Speedup speedup(Margins margins, const SimulationResult& plain, const SimulationResult& result);

}  // namespace orrery
