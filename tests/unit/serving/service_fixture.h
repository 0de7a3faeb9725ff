// Services small enough to follow by hand: a step takes 10 ms and 1 ms for each prompt token in it.
#pragma once

#include <vector>

#include "orrery/serving/cluster/simulation.h"

namespace orrery {

inline SimTime ms(std::int64_t n) { return {n * 1'000'000'000}; }

class PlainTimer : public StepTimer {
 public:
  SimTime time(const StepShape& step) override {
    shapes.push_back(step);
    SimTime t = ms(10);
    for (const PromptChunk& c : step.chunks) t += ms(c.new_tokens);
    return t;
  }
  SimTime latency(const StepShape& step) override {
    const SimTime t = time(step);
    shapes.pop_back();
    return {t.ps * stages};
  }

  std::int64_t stages = 1;
  std::vector<StepShape> shapes;  // asked for; their chunks are gone
};

inline Request request_at(SimTime arrival, std::int32_t input, std::int32_t output) {
  Request r;
  r.arrival = arrival;
  r.input = input;
  r.output = output;
  return r;
}

inline RequestLoad load_of(std::vector<Request> requests) {
  RequestLoad load;
  load.requests = std::move(requests);
  return load;
}

// One synchronous engine with blocks of 16 tokens, without prefix cache.
inline SimulationConfig plain_service() {
  SimulationConfig c;
  c.replica.kv_blocks = 1000;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.engine.scheduler.async_scheduling = false;
  return c;
}

// The same apart: engines that prefill and engines that decode. A transfer takes 1 ms a token.
inline SimulationConfig disaggregated_service(std::int64_t prefill = 1, std::int64_t decode = 1) {
  SimulationConfig c = plain_service();
  c.replica.role = Role::kPrefill;
  c.replicas = prefill;
  PoolConfig d = plain_service();
  d.replica.role = Role::kDecode;
  d.replicas = decode;
  c.others = {d};
  c.transfer.time = [](std::int64_t tokens) { return ms(tokens); };
  c.transfer.layers = 4;
  return c;
}

}  // namespace orrery
