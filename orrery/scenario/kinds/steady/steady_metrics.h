// The figures of a question about a steady load as typed values, and their names.
//
// Metrics: memory, weights, kv_cache_per_request and max_concurrency; of a question about memory
// alone kv_tokens, request_tokens and kv_concurrency; ttft, tpot, e2e, prefill_time; output, total
// and request throughput; power (of a board), energy_per_token and energy_per_request (of all
// GPUs), and clock where a power limit or a clock is asked for; of a chip of cores energy_per_token
// and chip_area; the power and the emissions of the plant; the costs.
#pragma once

#include "orrery/memory/memory_model.h"
#include "orrery/scenario/kinds/steady/wave_energy.h"

namespace orrery {

struct SteadyMemory {
  MemoryBreakdown held;
  Bytes kv_per_request;
  std::int64_t max_concurrency = 0;
  // The tokens of the KV cache and the requests of the planned length that vLLM logs when it
  // starts, of all data-parallel ranks together. Absent: not asked for, or the cache is not paged.
  struct KvCache {
    std::int64_t tokens = 0, request_tokens = 0;
    double concurrency = 0;
  };
  std::optional<KvCache> kv_cache = {};
};

// Everything is borrowed, and null is absent.
struct SteadyFigures {
  const ClosedFormResult& times;
  const ServedModel& served;
  const CoreChip* chip = nullptr;
  const WaveEnergy* boards = nullptr;   // without a chip
  const PlantAccount* plant = nullptr;  // where it is asked for
  const Estimate<Usd>* hour = nullptr;  // the price of all GPUs
};

void add_memory_metrics(const SteadyMemory& memory, Point& point);

// Adds the metrics in the order of an answer, and notes of a chip's energy and of the plant.
void add_steady_metrics(const SteadyFigures& figures, Point& point);

// Counts what the scope of the account does (count_scope), and adds the emissions where they are
// asked for. `boards`: all GPUs of the deployment.
void add_plant_metrics(const PlantAccount& account, const ScopedBoards& boards,
                       const ClosedFormResult& result, Point& point);

}  // namespace orrery
