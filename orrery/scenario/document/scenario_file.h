// Scenario files: a document merged with its includes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {

// Reads the document at the path of an `include`.
using OpenDocument = std::function<Node(const std::string& path)>;

// Merges `document`, read from `path`, with the files that its `include` names. Its keys override
// theirs. Paths are relative to the file with the key. Maps are merged key by key, other values are
// replaced. `name` and `question` of an included file are ignored. InputError: a file that includes
// itself, or a chain of more than 16 files.
Node with_includes(const Node& document, const std::string& path, const OpenDocument& open);

// The document of a file, merged with its includes.
Node read_scenario_document(const std::filesystem::path& file);

// The same sweep with the name `name`, if it has none.
ScenarioSweep named(ScenarioSweep sweep, const std::string& name);

}  // namespace orrery
