// The scenario files that a command line names.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

// Files as they are; a directory stands for its *.yaml, *.yml and *.json, sorted, not those of its
// folders. InputError: a directory without any.
std::vector<std::string> scenario_files(const std::vector<std::string>& given);

}  // namespace orrery::cli
