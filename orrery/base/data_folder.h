// Where the measured tables are that predictions are fitted on and checked against (docs/data.md).
#pragma once

#include <filesystem>

namespace orrery {

// The folder that the environment variable ORRERY_DATA names; without it, the folder beside the
// checkout that this program was built from (ORRERY_DATA_DIR of CMakeLists.txt). Nothing says that
// the folder exists.
std::filesystem::path data_folder();

// Tables that were measured for this repository (catalog/measured), a folder for each GPU, in the
// checkout that this program was built from. Nothing says that the folder exists.
std::filesystem::path own_tables_folder();

}  // namespace orrery
