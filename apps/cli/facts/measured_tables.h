// The default of --data, for the verbs that read measured tables.
#pragma once

#include <string>

namespace orrery::cli {

// The sub-folder `folder` of the measured tables (orrery/base/data_folder.h); empty: all of them.
// InputError if there is no such folder: it says how to name another.
std::string measured_tables(const std::string& folder);

}  // namespace orrery::cli
