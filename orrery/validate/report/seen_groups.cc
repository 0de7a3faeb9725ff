#include "orrery/validate/report/seen_groups.h"

#include <algorithm>
#include <set>
#include <string>

#include "orrery/base/bundle.h"

namespace orrery {
namespace {

std::set<std::string, std::less<>> read_seen_groups() {
  std::set<std::string, std::less<>> groups;
  const Bundle bundle;
  const auto file = bundle.find("validation/seen-groups.txt");
  std::string_view text = file ? file->content : std::string_view();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && line[0] != '#') groups.emplace(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return groups;
}

}  // namespace

bool seen_group(std::string_view group) {
  static const auto groups = read_seen_groups();
  return groups.contains(group);
}

}  // namespace orrery
