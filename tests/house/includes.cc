#include "tests/house/includes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace orrery::house {
namespace {

// The room of "orrery/<room>/...", empty for any other path.
std::string_view room_of(std::string_view path) {
  constexpr std::string_view kRoot = "orrery/";
  if (!path.starts_with(kRoot)) return {};
  path.remove_prefix(kRoot.size());
  const auto slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

}  // namespace

Floors parse_rooms(std::string_view text) {
  static const std::regex kLine("([0-9]+) +([a-z]+)");
  Floors floors;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::smatch match;
    if (!std::regex_match(line, match, kLine)) {
      throw std::runtime_error(fmt::format("rooms: expected 'floor room', found '{}'", line));
    }
    if (!floors.emplace(match[2], std::stoi(match[1])).second) {
      throw std::runtime_error(fmt::format("rooms: '{}' stands twice", match[2].str()));
    }
  }
  return floors;
}

std::vector<Include> quoted_includes(std::string_view source) {
  static const std::regex kInclude(R"re(\s*#\s*include\s*"([^"]*)".*)re");
  std::vector<Include> found;
  std::istringstream lines{std::string(source)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find("include") == std::string::npos) continue;
    std::smatch match;
    if (std::regex_match(line, match, kInclude)) found.push_back({number, match[1]});
  }
  return found;
}

std::vector<std::string> include_faults(const Floors& floors, std::string_view path,
                                        std::string_view source) {
  std::vector<std::string> faults;
  const auto own = floors.find(room_of(path));
  const bool in_library = path.starts_with("orrery/");
  if (in_library && own == floors.end()) {
    faults.push_back(fmt::format("{}:1: its folder is no room of cmake/rooms.txt", path));
    return faults;
  }
  for (const Include& include : quoted_includes(source)) {
    const std::string& target = include.target;
    const auto fault = [&](std::string_view why) {
      faults.push_back(fmt::format("{}:{}: \"{}\" {}", path, include.line, target, why));
    };
    const auto room = floors.find(room_of(target));
    if (room != floors.end()) {
      if (in_library && room->first != own->first && room->second >= own->second) {
        fault(fmt::format("is on floor {}, this file ({}) on floor {}", room->second, own->first,
                          own->second));
      }
    } else if (target.starts_with("orrery/")) {
      fault("is in no room of cmake/rooms.txt");
    } else if (in_library || !target.starts_with(path.substr(0, path.find('/') + 1))) {
      fault("is not written from the root as orrery/<room>/<file>");
    }
  }
  return faults;
}

std::vector<std::string> sources_below(const std::filesystem::path& root, std::string_view folder) {
  std::vector<std::string> found;
  const auto start = root / folder;
  if (!std::filesystem::is_directory(start)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(start)) {
    const auto ending = entry.path().extension();
    if (entry.is_regular_file() && (ending == ".h" || ending == ".cc")) {
      found.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace orrery::house
