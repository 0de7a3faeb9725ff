// The plan of the house (cmake/rooms.txt) and the check of a source's #include lines against it.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::house {

struct Room {
  int floor = 0;
  // Floor of each inner room inside this room, from 0. Empty: the room's files lie in its folder.
  std::map<std::string, int, std::less<>> inner;
  // Folders of which every folder is an inner room, and the floor of these.
  std::map<std::string, int, std::less<>> shelves;
  // Inner rooms that include no other inner room and that none includes.
  std::set<std::string, std::less<>> apart;
  // Headers that other rooms may include, relative to the room's folder.
  std::set<std::string, std::less<>> front;
};

// By name. The faces (apps/, bindings/) are not rooms: they may include the front of every room.
using Plan = std::map<std::string, Room, std::less<>>;

// Parses the text of cmake/rooms.txt, whose first lines state the format. Throws
// std::runtime_error with the offending line.
Plan parse_plan(std::string_view text);

struct Include {
  int line;
  std::string target;  // as written between the quotes
};

// The quoted includes of one source, in order. Those in <> are third-party and not returned.
std::vector<Include> quoted_includes(std::string_view source);

// The faults of one file's includes as "path:line: why". `path` is relative to the root, with '/'.
//  - A quoted include is written from the root: "orrery/<room>/x.h", or "apps/..." in a face.
//  - A file of a room includes files of that room and of rooms on lower floors.
//  - Inside a room it includes files of its own inner room and of inner rooms on lower floors.
//  - Of another room, the library and the faces include headers of its front only. Tests,
//    benchmarks and fuzzers may look behind the front.
std::vector<std::string> include_faults(const Plan& plan, std::string_view path,
                                        std::string_view source);

// All .h and .cc below `root`/`folder`, sorted, relative to `root`. Empty if the folder is absent.
std::vector<std::string> sources_below(const std::filesystem::path& root, std::string_view folder);

// The whole text of a file. Throws std::runtime_error if it cannot be read.
std::string read_text(const std::filesystem::path& file);

}  // namespace orrery::house
