// A record of every step of a simulation, for time series and traces.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

struct StepRecord {
  SimTime start, end;        // from entering the first stage to leaving the last
  std::uint32_t engine = 0;  // index in the fleet
  std::int64_t decodes = 0;  // sequences that decode or verify drafts
  std::int64_t prompts = 0, prompt_tokens = 0;
  std::int64_t running = 0, waiting = 0;  // requests, when it starts
  double kv_use = 0;                      // share of the KV memory in use when it starts, 0 to 1
};

using StepLog = std::vector<StepRecord>;

}  // namespace orrery
