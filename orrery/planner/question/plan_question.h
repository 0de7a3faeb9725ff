// The question of the planner: which deployment serves a load within its limits, for the least
// money, GPUs or energy, or with the highest rate that a number of GPUs can take.
//
//   model: llama-3.1-70b
//   load: {rate: 20, isl: "lognormal(1200, 0.8)", osl: 250}
//   slo: {ttft: 1 s, tpot: 30 ms}
//   plan: {gpu: [h100-sxm, "h200-sxm:64"], engines: [vllm, sglang], objective: cost}
//
// The planner chooses the GPU, the engine, the number formats, the layout and the number of engines
// (orrery/planner). A document with `plan` therefore has no hardware, precision, engine and
// cluster, and of parallel only how tokens travel to their experts (expert_plan.h), which all
// engines share.
//
// With a group `speculation` every engine is tried with that drafter and without it.
//
// Further models may share the GPUs, each with a load and limits of its own (`plan.others`), and
// the engines of a model may be of several kinds (`plan.mixed`):
//
//   plan:
//     gpu: ["h100-sxm:64", "h200-sxm:32"]
//     mixed: true
//     others: {search: {model: llama-3-8b, load: {rate: 90}, slo: {tpot: 20 ms}}}
//
// With `training` in the place of `load` and `slo` it asks on which GPUs, how many of them and in
// which layout a run is trained:
//
//   model: llama-3-70b
//   training: {tokens: 2T, stack: megatron, seq: 8192, global_batch: 2048}
//   plan: {gpu: [h100-sxm, "h200-sxm:4096"], by: 60 d, objective: cost}
//
// `training` then has what the run is, and none of the sizes that the planner chooses
// (planned_training_keys).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

// The quantity of which the best plan has the least; with kThroughput the most. kTime is of a run
// alone: the time that it takes. kPareto of a run: all plans of which no other one takes less time,
// less money and fewer GPUs; of a service kCost with the front of TPOT. Runs have no kThroughput.
enum class PlanObjective { kCost, kGpus, kEnergy, kThroughput, kTime, kPareto };
// "cost", "gpus", "energy", "throughput", "time", "pareto", in the order of the values.
const std::vector<std::string>& plan_objective_names();

// A type of GPU and how many of it there are.
struct GpuStock {
  std::string gpu;
  std::int64_t gpus = 0;  // 0: as many as are wanted

  // Parses "h200-sxm" or "h200-sxm:64". InputError: the number is no whole number above 0.
  static GpuStock parse(std::string_view text);
};

// A model that is served beside that of the question, on the same GPUs.
struct PlannedModel {
  std::string name, model;
  ServiceQuestion service;  // its load and limits
};

struct PlanChoice {
  std::vector<std::string> gpu;  // as GpuStock reads them
  PlanObjective objective = PlanObjective::kCost;
  // "ttft", "tpot" or "e2e": the plans for each limit of it (answer/front.h); empty: one limit.
  std::string front;
  std::int64_t gpus = 0;  // most GPUs of a plan; 0: no limit
  double budget = 0;      // most USD: a month of a service, a whole run; 0: no limit
  std::vector<std::string> engines = {"vllm"};
  std::vector<std::string> formats = {"checkpoint"};  // of the weights
  std::vector<std::string> modes = {"aggregated"};
  // To be tried; empty: all that an engine, or a job, may have.
  std::vector<std::int64_t> tp, pp;
  // Data-parallel groups of attention of an engine whose experts are divided over all ranks; empty:
  // as many as tensor-parallel ranks are tried.
  std::vector<std::int64_t> dp;
  // Most sequences at once, and most tokens of a step, of an engine; empty: the engine's own.
  std::vector<std::int64_t> max_num_seqs, max_num_batched_tokens;
  // Decode context parallel sizes of a service (empty: 1), or those of a run (empty: as tp and pp).
  std::vector<std::int64_t> cp;
  // "on" and "off", of an engine with prefix caching where prompts of the load begin alike.
  std::vector<std::string> prefix_caching = {"on", "off"};
  std::int64_t engine_gpus = 0;          // most GPUs of one engine; 0: one node
  double confidence = 50;                // %: quantile of the step times at which fleets are tried
  std::int64_t spare = 0;                // engines of each pool that may be lost within the limits
  std::int64_t top = 3;                  // plans of different engines that are shown and proved
  bool explain = false;                  // search again for what would change the plan
  std::vector<std::string> what_if_gpu;  // GPUs that are not to be had, to be compared with
  double availability = 0;        // %: share of the time in which the limits must hold; 0: none
  Seconds repair = Seconds(600);  // until a failed engine works again
  // The parts of the load that may be other than asked, each with how much: "load:20%",
  // "lengths:10%".
  std::vector<std::string> robust;
  std::vector<double> day;         // requests/s in equal parts of a day; none: always the load's
  Seconds startup = Seconds(180);  // until an engine that is started serves
  std::vector<std::string> power_limits;  // of a board, to be tried; none: the data sheet's alone
  std::vector<std::string> clocks;        // likewise; none: the boost clock alone
  bool mixed = false;                     // the engines of a model may be of several kinds
  std::vector<PlannedModel> others;       // models that share the GPUs and the money
  std::string from_command;  // that starts an engine today, to be compared; empty: none
  bool exhaustive = false;   // look at all candidates instead of those that can win

  // The members that follow are of a run alone.
  Seconds by;                                           // longest time to train; 0: no limit
  std::vector<std::int64_t> gpu_counts;                 // numbers of GPUs to be tried
  std::vector<std::int64_t> vp, ep, micro_batch, zero;  // as tp and pp
  std::vector<std::string> recompute = {"none", "selective", "full"};
};

// Whether the plan divides GPUs among fleets, instead of choosing one.
inline bool divides(const PlanChoice& plan) { return plan.mixed || !plan.others.empty(); }

struct QuestionKind;

struct PlanQuestion {
  ServiceQuestion service;  // its load and limits; not read where there is a run
  PlanChoice choice;
  std::optional<TrainingQuestion> training;  // the run that is planned; none: a service
};

// Defined by the kind (plan_kind.cc).
const QuestionKind& kind_of(const PlanQuestion& question);

// The question of a scenario. REQUIRES that it asks for a plan.
inline const PlanQuestion& planned(const Scenario& s) { return s.as<PlanQuestion>(); }
inline PlanQuestion& planned(Scenario& s) { return s.ask<PlanQuestion>(); }

// The keys of the group `plan`.
void declare(Fields& fields, PlanChoice& plan);
// The keys of `plan` that only a service has, and only a run.
const std::vector<std::string>& plan_keys_of_services();
const std::vector<std::string>& plan_keys_of_runs();
// The keys of `training`, and of `parallel`, that a plan chooses.
const std::vector<std::string>& planned_training_keys();
const std::vector<std::string>& planned_parallel_keys();

}  // namespace orrery
