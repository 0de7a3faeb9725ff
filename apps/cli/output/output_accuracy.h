// Renders the reports of `orrery validate`: the errors of one area or of all, and the changes
// between two builds.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/flags/document.h"
#include "orrery/validate/report/accuracy.h"
#include "orrery/validate/report/baseline.h"

namespace orrery::cli {

// The report of areas. `command`: the command that made it, without format and file.
Document accuracy_document(const std::vector<AccuracyArea>& areas, const std::string& command);

// The changes of predictions since a baseline. `file`: the file of the baseline.
Document changes_document(const std::vector<TableChange>& changes, const std::string& file);

}  // namespace orrery::cli
