// The scenario files that a command line names.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

// Replaces each directory by its files *.yaml, *.yml and *.json, sorted, without those of its
// folders. Other paths are kept. InputError: a directory without such files.
std::vector<std::string> scenario_files(const std::vector<std::string>& given);

}  // namespace orrery::cli
