// Scenario files: a document with what it includes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {

// Reads the document at a path that an `include` leads to.
using OpenDocument = std::function<Node(const std::string& path)>;

// `document`, which stands at `path`, over all that its `include` names; paths are relative to the
// file that has the key. Maps are merged key by key, anything else is replaced; `name` and
// `question` of an included file are not taken. InputError: a file that includes itself, or a chain
// of more than 16.
Node with_includes(const Node& document, const std::string& path, const OpenDocument& open);

// The document of a file, with its includes.
Node read_scenario_document(const std::filesystem::path& file);

// Called `name` if it has no name of its own.
ScenarioSweep named(ScenarioSweep sweep, const std::string& name);

}  // namespace orrery
