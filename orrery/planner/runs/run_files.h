// The files of plans of a run: for each its scenario, and what each way to start its stack is told.
//
//   plan.json          the answer: all plans with their intervals
//   pareto.csv         USD, days and GPUs of the plans
//   rejected.csv       layouts that were left out, by the reason
//   1/scenario.json    answered by `orrery run 1/scenario.json`
//   1/megatron-lm.sh, 1/torchtitan.toml, ...   of catalog/launch/runs; a comment says what a way to
//                      start the stack cannot be told
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/planner/runs/run_planner.h"

namespace orrery {

// Paths below the folder of the plans, and their texts.
std::vector<std::pair<std::string, std::string>> run_files(Runner& runner, const RunPlans& plans);

}  // namespace orrery
