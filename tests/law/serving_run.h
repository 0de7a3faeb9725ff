// Small random services, and one engine run alone with all that happens written down.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/engine/engine.h"

namespace orrery::serving_run {

struct Case {
  ReplicaConfig config;
  RequestLoad load;
  std::int64_t threshold = 0;  // long_prefill_token_threshold of the config
};

// The history of one request.
struct History {
  SimTime scheduled{-1};
  std::int32_t cached = 0, evictions = 0, stalls = 0;
  std::vector<SimTime> tokens;  // when each came
  bool finished = false;
  bool operator==(const History&) const = default;
};

struct EngineRun {
  std::vector<History> requests;
  std::vector<std::uint32_t> admitted;  // requests in the order of their first step
  std::vector<std::uint32_t> evicted;   // in order
  std::vector<std::string> steps;       // shape of each, in the order in which they started
  SimTime end;
  std::int64_t busy = 0;           // ps, sum of steps
  std::int64_t prompt_tokens = 0;  // computed
  std::int64_t free_blocks = 0;    // at the end
  bool operator==(const EngineRun&) const = default;
};

inline Seconds picoseconds(std::int64_t n) { return SimTime{n}.time(); }

// Duration of a step in these tests: an arbitrary sum that differs between shapes of steps.
inline std::int64_t step_ps(const StepShape& s) {
  std::int64_t ps = 100'000 + 1'003 * s.decodes + 11 * s.decode_past;
  for (const PromptChunk& c : s.chunks)
    ps += 2'017 * c.new_tokens + 29 * c.past + (c.sampled ? 503 : 0);
  return ps;
}

// The shape as text: decodes, the sum of their pasts, prompt chunks.
std::string text_of(const StepShape& s);

// A few requests, a small memory: evictions happen, every request can run.
Case random_case(std::mt19937_64& random, const std::string& scheduler);

EngineRun run(const Case& c);

struct Service {
  SimulationConfig config;
  RequestLoad load;
};

// A fleet of a few engines, with any scheduler and blind router, and up to 134 requests.
Service random_service(std::uint64_t seed);

// Asserts that both are equal to the byte.
void expect_same(const SimulationResult& a, const SimulationResult& b, std::uint64_t seed);

// Engines are simulated independently where timers can be multiplied.
class PlainTimer : public StepTimer {
 public:
  explicit PlainTimer(bool alone) : alone_(alone) {}
  SimTime time(const StepShape& step) override { return {step_ps(step) + 7 * step.wave_tokens}; }
  SimTime latency(const StepShape& step) override { return {3 * time(step).ps}; }
  std::unique_ptr<StepTimer> another() const override {
    return alone_ ? nullptr : std::make_unique<PlainTimer>(false);
  }

 private:
  bool alone_;
};

}  // namespace orrery::serving_run
