// The commands that start the engines of a plan, from the facts of catalog/launch: one file for an
// engine, with its flags and their sources.
//
// A flag is written where its degree is above 1. What an engine has no flag for is not left out
// silently: the plan then has no command, and the reason is said. The flags of speculation tell its
// method, its drafts and the draft model, and not the acceptance, which the engine does not set.
// Prefix caching has a flag where it is off. Some of this stands in a file of options beside the
// command for engines that have no flag for it.
#pragma once

#include <string>

#include "orrery/base/bundle.h"
#include "orrery/planner/space/fleet_plan.h"

namespace orrery {

enum class EngineRole { kBoth, kPrefill, kDecode };

struct LaunchCommand {
  std::string command;  // empty: it cannot be written
  std::string flags;    // those of it that tell layout, length and format, each after a space
  // The file of options that the command names, and what it holds; empty: there is none.
  std::string options_file, options;
  std::string image;             // of a container that has the engine
  std::string requests_counter;  // of Prometheus, that counts requests; empty: not known
  std::string refused;           // why there is no command
  std::string needs;  // what the user must see to, such as a checkpoint in fp8; empty: nothing
};

// The model as a hub of models knows it: its first alias with a '/', else its id.
std::string hub_name(const Bundle& bundle, const std::string& model);

// The id of a model of the catalog by its id or an alias; empty: the catalog does not have it.
std::string catalog_id(const Bundle& bundle, const std::string& name);

// `model`: as the engine reads it. `max_model_len`: 0 for the engine's own.
LaunchCommand launch_command(const Bundle& bundle, const EngineOption& option, EngineRole role,
                             const std::string& model, std::int64_t max_model_len);

}  // namespace orrery
