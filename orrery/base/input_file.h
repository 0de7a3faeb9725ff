// A file that a user named.
#pragma once

#include <fmt/format.h>

#include <filesystem>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {

// Throws InputError where there is none, or a folder in its place.
inline void require_file(const std::filesystem::path& path) {
  if (std::filesystem::is_regular_file(path)) return;
  throw InputError(fmt::format(
      "{}: {}", shortened(path.string(), 200),
      std::filesystem::is_directory(path) ? "a folder; expected a file" : "no such file"));
}

}  // namespace orrery
