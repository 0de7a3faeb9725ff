// The measured kernel tables, for tests that read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "orrery/base/data_folder.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {

inline std::filesystem::path kernel_tables() { return data_folder() / "kernels"; }

// REQUIRES that there is one of this name.
inline const KernelFamily& family_called(std::string_view name) {
  const auto all = kernel_families();
  return **std::find_if(all.begin(), all.end(),
                        [&](const KernelFamily* f) { return f->name() == name; });
}

}  // namespace orrery
