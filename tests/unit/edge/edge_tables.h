// The measured tables of networks on edge devices (docs/data.md); tests that need one are passed
// over where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "orrery/base/data_folder.h"

#define NEEDS_EDGE_TABLE(name)                               \
  if (!std::filesystem::exists(orrery::edge_table(name))) {  \
    GTEST_SKIP() << "no table " << orrery::edge_table(name); \
  }

namespace orrery {

inline std::filesystem::path edge_table(const std::string& name) {
  return data_folder() / "edge" / name;
}

}  // namespace orrery
