// The files of platforms that start and route the engines of a plan: NVIDIA Dynamo, llm-d, and the
// server of TensorRT-LLM for prefill and decode apart.
//
// A platform is a file of catalog/launch/platforms: texts for its head and for each pool, with the
// names of the plan in braces, and what starts a worker of each engine that it knows. A plan whose
// engine a platform does not know, or whose engine has more GPUs than a node, has no file of it:
// such engines need a launcher over nodes that these texts do not have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

// Names and texts. `model`: as a hub of models knows it. `node`: GPUs of a node.
std::vector<std::pair<std::string, std::string>> platform_files(const Bundle& bundle,
                                                                const FleetPlan& plan,
                                                                const std::string& model,
                                                                std::int64_t max_model_len,
                                                                std::int64_t node);

// The commands with which platforms start workers of the engine, with {model} in braces.
std::vector<std::string> worker_commands(const Bundle& bundle, const std::string& engine);

}  // namespace orrery
