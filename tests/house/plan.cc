#include "tests/house/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace orrery::house {
namespace {

// "orrery/<room>/<inner>/<file>" or "orrery/<room>/<file>", where <inner> has two parts on a shelf.
// The room of any other path is empty.
struct Place {
  std::string_view room, inner;
  std::string_view in_room;  // the path below the room's folder
};

Place place_of(const Plan& plan, std::string_view path) {
  constexpr std::string_view kRoot = "orrery/";
  if (!path.starts_with(kRoot)) return {};
  path.remove_prefix(kRoot.size());
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  Place place{path.substr(0, slash), {}, path.substr(slash + 1)};
  const auto second = place.in_room.find('/');
  if (second == std::string_view::npos) return place;
  place.inner = place.in_room.substr(0, second);
  const auto room = plan.find(place.room);
  if (room == plan.end() || !room->second.shelves.contains(place.inner)) return place;
  const auto third = place.in_room.find('/', second + 1);
  if (third != std::string_view::npos) place.inner = place.in_room.substr(0, third);
  return place;
}

// The floor of an inner room; nothing: it is none.
std::optional<int> floor_of(const Room& room, std::string_view inner) {
  if (const auto own = room.inner.find(inner); own != room.inner.end()) return own->second;
  const auto slash = inner.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto shelf = room.shelves.find(inner.substr(0, slash));
  if (shelf == room.shelves.end()) return std::nullopt;
  return shelf->second;
}

// "a < b, c; d": inner rooms on the floors 0, 1 and 1, and one without relation to them.
void parse_inner(Room& room, const std::string& text) {
  static const std::regex kName("([a-z_]+(?:/\\*)?)|([<,;])|( +)|(.)");
  int floor = 0;
  bool apart = false;
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
    const std::string word = it->str();
    if ((*it)[4].matched) throw std::runtime_error("rooms: unexpected '" + word + "' in " + text);
    if (word == "<") ++floor;
    if (word == ";") apart = true;
    if (!(*it)[1].matched) continue;
    if (word.ends_with("/*")) {
      room.shelves.emplace(word.substr(0, word.size() - 2), floor);
      continue;
    }
    if (!room.inner.emplace(word, floor).second) {
      throw std::runtime_error("rooms: inner room '" + word + "' stands twice");
    }
    if (apart) room.apart.insert(word);
  }
}

// Why a file of `room` at `from` may not include `to` of the same room; empty if it may.
std::string inner_fault(const Room& room, const Place& from, const Place& to) {
  if (from.inner == to.inner) return {};
  const auto own = floor_of(room, from.inner), other = floor_of(room, to.inner);
  if (!own || !other) return {};  // told of the file itself
  if (room.apart.contains(from.inner) || room.apart.contains(to.inner)) {
    return fmt::format("joins inner room {}, which is apart",
                       room.apart.contains(from.inner) ? from.inner : to.inner);
  }
  if (*other < *own) return {};
  return fmt::format("is in inner room {}, which is not below {}", to.inner, from.inner);
}

}  // namespace

Plan parse_plan(std::string_view text) {
  static const std::regex kRoom("([0-9]+) +([a-z]+)");
  static const std::regex kInner(" +inner +(.+)");
  static const std::regex kFront(" +front +([a-z0-9_/]+\\.(?:h|def))");
  Plan plan;
  Room* room = nullptr;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::smatch match;
    if (std::regex_match(line, match, kRoom)) {
      const auto [it, added] = plan.emplace(match[2], Room{});
      if (!added) {
        throw std::runtime_error(fmt::format("rooms: '{}' stands twice", match[2].str()));
      }
      room = &it->second;
      room->floor = std::stoi(match[1]);
    } else if (room != nullptr && std::regex_match(line, match, kInner)) {
      parse_inner(*room, match[1]);
    } else if (room != nullptr && std::regex_match(line, match, kFront)) {
      if (!room->front.insert(match[1]).second) {
        throw std::runtime_error(fmt::format("rooms: front '{}' stands twice", match[1].str()));
      }
    } else {
      throw std::runtime_error(fmt::format(
          "rooms: expected 'floor room', 'inner ...' or 'front header', found '{}'", line));
    }
  }
  return plan;
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

std::vector<std::string> include_faults(const Plan& plan, std::string_view path,
                                        std::string_view source) {
  std::vector<std::string> faults;
  const Place from = place_of(plan, path);
  const auto own = plan.find(from.room);
  const bool in_library = path.starts_with("orrery/");
  const bool is_face = path.starts_with("apps/") || path.starts_with("bindings/");
  const bool tries_faces = path.starts_with("tests/server/") || path.starts_with("fuzz/");
  if (in_library && own == plan.end()) {
    faults.push_back(fmt::format("{}:1: its folder is no room of cmake/rooms.txt", path));
    return faults;
  }
  if (in_library && own->second.inner.empty() != from.inner.empty()) {
    faults.push_back(fmt::format("{}:1: its folder is no inner room of cmake/rooms.txt", path));
  } else if (in_library && !from.inner.empty() && !floor_of(own->second, from.inner)) {
    faults.push_back(
        fmt::format("{}:1: '{}' is no inner room of cmake/rooms.txt", path, from.inner));
  }
  for (const Include& include : quoted_includes(source)) {
    const std::string& target = include.target;
    const auto fault = [&](std::string_view why) {
      faults.push_back(fmt::format("{}:{}: \"{}\" {}", path, include.line, target, why));
    };
    const Place to = place_of(plan, target);
    const auto room = plan.find(to.room);
    if (room == plan.end()) {
      if (target.starts_with("orrery/")) {
        fault("is in no room of cmake/rooms.txt");
      } else if (in_library || !(target.starts_with(path.substr(0, path.find('/') + 1)) ||
                                 ((is_face || tries_faces) && target.starts_with("apps/")))) {
        fault("is not written from the root as orrery/<room>/<file>");
      }
      continue;
    }
    if (in_library && room == own) {
      const std::string why = inner_fault(own->second, from, to);
      if (!why.empty()) fault(why);
    } else if (in_library && room->second.floor >= own->second.floor) {
      fault(fmt::format("is on floor {}, this file ({}) on floor {}", room->second.floor,
                        own->first, own->second.floor));
    } else if ((in_library || is_face) && !room->second.front.contains(to.in_room)) {
      fault(fmt::format("is not on the front of {}", room->first));
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
