// Renders what `orrery validate` finds: the report of one area or all, and what changed between two
// builds.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/flags/document.h"
#include "orrery/validate/report/accuracy.h"
#include "orrery/validate/report/baseline.h"

namespace orrery::cli {

// `command`: what makes it, without the format and the file.
Document accuracy_document(const std::vector<AccuracyArea>& areas, const std::string& command);

// `file`: of the baseline.
Document changes_document(const std::vector<TableChange>& changes, const std::string& file);

}  // namespace orrery::cli
