// The files of plans: for each its scenario, the commands that start its engines, a Deployment, a
// Service and an autoscaler for Kubernetes, and the benchmark whose result `orrery compare` reads
// back.
//
//   plan.json                 the answer: all plans with their intervals
//   pareto.csv                money, GPUs, latencies, rate and energy of the plans
//   rejected.csv              engines and fleets that are not shown, by the reason
//   1/scenario.json           answered by `orrery run 1/scenario.json`
//   1/launch.sh               one engine of each kind, and how many are wanted
//   1/kubernetes.yaml         absent for disaggregated plans, whose router is another's product
//   1/dynamo.yaml, 1/llm-d-values.yaml, 1/trtllm-disaggregated.yaml
//                             of platforms that can start the engine (platforms.h)
//   1/bench.sh                the load of the question, for the service as it runs
//
// Fleets of a plan that divides GPUs have names of their own in a cluster, because all of them run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/planner/answer/planner.h"

namespace orrery {

// Paths below the folder of the plans, and their texts.
std::vector<std::pair<std::string, std::string>> plan_files(const Bundle& bundle,
                                                            const Plans& plans);

// The changes of the plans as a section of plan.md; empty without plan.explain.
std::string changes_markdown(const Plans& plans);

}  // namespace orrery
