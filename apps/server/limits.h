// The limits of one question, and of all of them together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery::server {

struct ServeLimits {
  std::size_t body = 1u << 20;                // bytes of a question
  std::size_t answer = 64u << 20;             // bytes of an answer
  std::int64_t points = 2000;                 // of a sweep
  std::int64_t requests = 10'000'000;         // simulated, over all points
  std::chrono::seconds seconds{120};          // of a long question
  std::size_t memory = std::size_t{6} << 30;  // bytes of address space of a worker
  std::size_t parallel = 1;                   // long questions at the same time
  std::size_t waiting = 16;                   // long questions that wait for their turn
  std::size_t quick = 2;                      // workers for quick questions
  std::size_t connections = 1024;
};

// The time that a quick worker gives a question before it counts as a long one.
inline constexpr std::chrono::milliseconds kQuickTime(2000);

// Whether the question is answered at once, by its size: a few points without a search and without
// a long simulation.
bool is_quick(const ScenarioSweep& question);

// InputError: the question is larger than the limits.
void check_size(const ScenarioSweep& question, const ServeLimits& limits);

}  // namespace orrery::server
