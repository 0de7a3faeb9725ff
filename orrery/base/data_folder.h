// Where the measured tables are that predictions are fitted on and checked against (docs/data.md),
// and whether questions may name files of this machine at all.
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

// From now on this process reads no file that a question names: a server's questions come from
// others, to whom no file may be shown, not even whether it is there. Facts of the bundle, and of a
// folder laid over it, are still read.
void seal_files();
bool files_are_sealed();
// InputError if files are sealed. Every reader of a file that a question can name asks first.
void require_open_files(const std::filesystem::path& path);

}  // namespace orrery
