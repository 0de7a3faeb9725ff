#include "orrery/scenario/kind/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {

void GivenTexts::give(std::string_view name, std::vector<std::string> words) {
  words_.insert_or_assign(std::string(name), std::move(words));
}

const std::vector<std::string>& GivenTexts::words(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto given = words_.find(name);
  return given == words_.end() ? kNone : given->second;
}

std::string GivenTexts::text(std::string_view name) const {
  const std::vector<std::string>& given = words(name);
  return given.empty() ? "" : given.back();
}

bool is_set(const Node& document, std::string_view path) {
  const Node* at = &document;
  for (std::string_view rest = path; at != nullptr && !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    at = at->find(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (at != nullptr) return true;
  const Node* sweep = document.find("sweep");
  return sweep != nullptr && is_set(*sweep, path);
}

void require_keys(const Node& document,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> keys,
                  std::string_view example) {
  std::vector<std::string_view> missing;
  for (const auto& [path, name] : keys) {
    if (!is_set(document, path)) missing.push_back(name);
  }
  if (missing.empty()) return;
  throw InputError(fmt::format("{} missing, as in: {}", fmt::join(missing, " and "), example));
}

}  // namespace orrery
