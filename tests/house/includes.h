// Reads the source tree's #include lines and judges them by the floors of cmake/rooms.txt.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::house {

// Room name -> floor. Faces (apps/, bindings/) are not rooms: they may include every room.
using Floors = std::map<std::string, int, std::less<>>;

// Parses the text of cmake/rooms.txt: lines "floor room", '#' comments. Throws std::runtime_error
// on any other line.
Floors parse_rooms(std::string_view text);

struct Include {
  int line;
  std::string target;  // as written between the quotes
};

// The quoted includes of one source, in order. Those in <> are third-party and not returned.
std::vector<Include> quoted_includes(std::string_view source);

// The faults of one file's includes as "path:line: why". `path` is relative to the root, with '/'.
//  - a quoted include is written from the root: "orrery/<room>/x.h", or "apps/..." from below apps/
//  - a file of room R includes only files of R and of rooms on lower floors
std::vector<std::string> include_faults(const Floors& floors, std::string_view path,
                                        std::string_view source);

// All .h and .cc below `root`/`folder`, sorted, relative to `root`; none where the folder is
// absent.
std::vector<std::string> sources_below(const std::filesystem::path& root, std::string_view folder);

// The whole text of a file. Throws std::runtime_error where it cannot be read.
std::string read_text(const std::filesystem::path& file);

}  // namespace orrery::house
