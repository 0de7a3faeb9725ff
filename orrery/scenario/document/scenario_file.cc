#include "orrery/scenario/document/scenario_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestChain = 16;

// Lays the keys of `over` on `base`, group by group.
void lay_over(Node& base, const Node& over, const std::string& prefix) {
  for (std::size_t i = 0; i < over.keys().size(); ++i) {
    const Node& value = over.items()[i];
    if (over.keys()[i].find('.') != std::string::npos) value.fail("unknown key");
    const std::string path = prefix + over.keys()[i];
    if (value.is_map() && !value.keys().empty()) {
      lay_over(base, value, path + ".");
    } else {
      set_path(base, path, value);
    }
  }
}

Node included(const Node& document, const std::string& path, const OpenDocument& open,
              std::vector<std::string>& chain) {
  const Node* include = document.find("include");
  if (include == nullptr) return document;
  const auto beside = std::filesystem::path(path).parent_path() / include->as_string();
  const std::string next = beside.lexically_normal().string();
  const bool again = std::find(chain.begin(), chain.end(), next) != chain.end();
  chain.push_back(next);
  if (again) include->fail(fmt::format("a file includes itself: {}", fmt::join(chain, " -> ")));
  if (chain.size() > kLongestChain)
    include->fail(fmt::format("a chain of more than {} includes", kLongestChain));
  const Node opened = open(next);
  if (!opened.is_map()) opened.fail("expected a map of keys");
  check_format(opened);
  Node base = included(opened, next, open, chain);
  for (const char* own : {"name", "question", "format"}) base = without(base, own);
  lay_over(base, without(document, "include"), "");
  return base;
}

}  // namespace

Node with_includes(const Node& document, const std::string& path, const OpenDocument& open) {
  std::vector<std::string> chain = {std::filesystem::path(path).lexically_normal().string()};
  return included(document, path, open, chain);
}

Node read_scenario_document(const std::filesystem::path& file) {
  return with_includes(read_document(file), file.string(),
                       [](const std::string& path) { return read_document(path); });
}

ScenarioSweep named(ScenarioSweep sweep, const std::string& name) {
  if (sweep.name != Scenario().name) return sweep;
  sweep.name = name;
  for (Scenario& s : sweep.points) s.name = name;
  return sweep;
}

}  // namespace orrery
