// The question of the planner: which deployment serves a load within its limits, for the least
// money, GPUs or energy, or with the highest rate that a number of GPUs can take.
//
//   model: llama-3.1-70b
//   load: {rate: 20, isl: "lognormal(1200, 0.8)", osl: 250}
//   slo: {ttft: 1 s, tpot: 30 ms}
//   plan: {gpu: [h100-sxm, "h200-sxm:64"], engines: [vllm, sglang], objective: cost}
//
// The planner chooses the GPU, the engine, the number formats, the layout and the number of engines
// (orrery/planner). A document with `plan` therefore has no hardware, parallel, precision, engine
// and cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/service.h"

namespace orrery {

// What the best plan has least of; of kThroughput most.
enum class PlanObjective { kCost, kGpus, kEnergy, kThroughput };
// "cost", "gpus", "energy", "throughput", in the order of the values.
const std::vector<std::string>& plan_objective_names();

// A type of GPU and how many of it there are.
struct GpuStock {
  std::string gpu;
  std::int64_t gpus = 0;  // 0: as many as are wanted

  // Parses "h200-sxm" or "h200-sxm:64". InputError: the number is no whole number above 0.
  static GpuStock parse(std::string_view text);
};

struct PlanChoice {
  std::vector<std::string> gpu;  // as GpuStock reads them
  PlanObjective objective = PlanObjective::kCost;
  std::int64_t gpus = 0;  // most GPUs of a plan; 0: no limit
  double budget = 0;      // most USD a month; 0: no limit
  std::vector<std::string> engines = {"vllm"};
  std::vector<std::string> formats = {"checkpoint"};  // of the weights
  std::vector<std::string> modes = {"aggregated"};
  std::vector<std::int64_t> tp, pp;  // to be tried; empty: all that an engine may have
  std::int64_t engine_gpus = 0;      // most GPUs of one engine; 0: one node
  double confidence = 50;            // %: quantile of the step times at which fleets are tried
  std::int64_t spare = 0;            // engines of each pool that may be lost within the limits
  std::int64_t top = 3;              // plans of different engines that are shown and proved
  bool exhaustive = false;           // simulate all candidates instead of those that can win
};

struct PlanQuestion {
  ServiceQuestion service;  // its load and limits
  PlanChoice choice;
};

// The keys of the group `plan`.
void declare(Fields& fields, PlanChoice& plan);

}  // namespace orrery
