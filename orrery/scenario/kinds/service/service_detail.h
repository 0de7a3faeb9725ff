// The requests and the steps of a simulated service, as far as they were asked for
// (RunOptions::requests, RunOptions::steps).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

// One request of a simulated service.
struct RequestRow {
  Seconds arrival;
  std::int64_t input = 0, output = 0;  // tokens
  Seconds front_end;                   // before it is in a scheduler's queue
  Seconds queue;                       // in that queue
  Seconds ttft, tpot, e2e;             // tpot is 0 for a single token
  std::int64_t cached = 0;             // tokens of the prompt
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t replica = 0;
  std::string outcome;  // "done", "too long", "never fits", "unfinished"
};

// One step of a simulated service.
struct StepRow {
  Seconds start, end;
  std::int64_t engine = 0, decodes = 0, prompts = 0, prompt_tokens = 0;
  std::int64_t running = 0, waiting = 0;  // requests
  double kv_use = 0;                      // share of the KV blocks, 0 to 1
};

// Power in windows of one length, the last of which ends at `end`.
struct PowerSeries {
  Seconds window, end;
  std::vector<Watts> power;  // mean in each window
};

struct ServiceDetail : PointDetail {
  std::vector<RequestRow> requests;
  std::vector<StepRow> steps;
  PowerSeries power;  // with the steps, where the power is known

  // The steps: a process is an engine, a counter its requests and its use of KV memory.
  Timeline timeline() const override;
};

// REQUIRES that a service was asked about and requests or steps were wanted.
const ServiceDetail& service_detail(const Point& point);

}  // namespace orrery
