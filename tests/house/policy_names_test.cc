// Does any room recognise a policy of another room by its name?
//
// Facts about a policy that other rooms need are traits in its registry entry. Source files may
// choose a policy by name (`policy = "orca"`, a default or the translation of a foreign file), but
// outside of the policy's folder they may not compare names or list them.
//
// Adding a registry: one line in `registries()`.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/plan.h"

namespace orrery::house {
namespace policy_names_test {

struct Registry {
  std::string table;    // the file with one entry for each policy
  std::string pattern;  // regular expression of an entry, whose first group is the name
  std::string home;     // the folder whose files may use the names freely
  // Variables and keys that hold a name of this registry.
  std::vector<std::string> variables;
  // Names that are also words for something else. They are faults only in a statement that mentions
  // one of `variables`.
  std::vector<std::string> shared = {};
};

std::vector<Registry> registries() {
  const std::string kind = "KIND\\(\\s*\"([^\"]+)\"";
  return {
      // Engines, kernels' frameworks and stacks of collectives have the first three names too.
      {"orrery/serving/schedulers/schedulers.def",
       kind,
       "orrery/serving/schedulers/",
       {"policy", "scheduler"},
       {"vllm", "sglang", "trtllm"}},
      // A random stream is called prefix, a group of keys slo.
      {"orrery/serving/routers/routers.def",
       kind,
       "orrery/serving/routers/",
       {"router", "decode_router"},
       {"prefix", "slo"}},
      {"orrery/serving/requests/arrivals.def", kind, "orrery/serving/requests/", {"arrivals"}},
      {"orrery/workload/plan/pipeline_schedules.def",
       kind,
       "orrery/training/schedules/",
       {"schedule", "schedule_name"}},
      // Ways of context parallelism, wirings of a topology and flow models share these names.
      {"orrery/workload/ops/collective_algorithms.def",
       "ALGORITHM\\(\\w+,\\s*\"([^\"]+)\"",
       "orrery/network/algorithms/",
       {"algorithm"},
       {"ring", "tree", "direct", "hierarchical"}},
  };
}

std::vector<std::string> names_of(const Registry& registry, const std::string& table) {
  std::vector<std::string> names;
  const std::regex entry(registry.pattern);
  for (auto at = std::sregex_iterator(table.begin(), table.end(), entry);
       at != std::sregex_iterator(); ++at)
    names.push_back((*at)[1]);
  return names;
}

// The source with every comment blanked; lines stay lines. Literals are kept.
std::string without_comments(const std::string& source) {
  std::string out = source;
  bool literal = false;
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (literal && out[i] == '\\') {
      ++i;
    } else if (out[i] == '"') {
      // A quote in a character literal opens nothing.
      if (literal || i == 0 || out[i - 1] != '\'') literal = !literal;
    } else if (!literal && out[i] == '/' && out[i + 1] == '/') {
      for (; i < out.size() && out[i] != '\n'; ++i) out[i] = ' ';
    } else if (out[i] == '\n') {
      literal = false;
    }
  }
  return out;
}

// Whether `text` ends where a value is chosen: "x = ", "x = condition ? a : " or ".set("key", ".
bool ends_in_choice(const std::string& text) {
  static const std::regex kChoice(
      "((^|[^=!<>])=(\\s*|[^=;][^;]*[?:]\\s*)|\\.set\\(\"[^\"]+\",\\s*)$");
  return std::regex_search(text, kChoice);
}

bool mentions(const std::string& statement, const std::vector<std::string>& variables) {
  return std::any_of(variables.begin(), variables.end(), [&](const std::string& v) {
    return std::regex_search(statement, std::regex("\\b" + v + "_?\\b"));
  });
}

// The faults of one source as "path:line: why".
std::vector<std::string> name_faults(const Registry& registry,
                                     const std::vector<std::string>& names, const std::string& path,
                                     const std::string& source) {
  std::vector<std::string> faults;
  const std::string text = without_comments(source);
  for (const std::string& name : names) {
    const std::string literal = "\"" + name + "\"";
    const bool shared =
        std::find(registry.shared.begin(), registry.shared.end(), name) != registry.shared.end();
    for (std::size_t at = text.find(literal); at != text.npos; at = text.find(literal, at + 1)) {
      const std::size_t before = text.find_last_of(";{}", at),
                        first = before == text.npos ? 0 : before + 1,
                        last = std::min(text.find_first_of(";{}", at), text.size());
      const std::string lead = text.substr(first, at - first);
      if (ends_in_choice(lead)) continue;
      if (shared && !mentions(text.substr(first, last - first), registry.variables)) continue;
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      faults.push_back(path + ":" + std::to_string(line) + ": names " + literal + " of " +
                       registry.table + "; ask for a trait of the registry entry");
    }
  }
  return faults;
}

TEST(PolicyNames, AreComparedInNoOtherRoom) {
  const std::filesystem::path root = ORRERY_SOURCE_DIR;
  for (const Registry& registry : registries()) {
    const auto names = names_of(registry, read_text(root / registry.table));
    ASSERT_GT(names.size(), 2u) << registry.table;
    for (const char* folder : {"orrery", "apps", "bindings"}) {
      for (const std::string& path : sources_below(root, folder)) {
        if (path.starts_with(registry.home)) continue;
        for (const std::string& fault : name_faults(registry, names, path, read_text(root / path)))
          ADD_FAILURE() << fault;
      }
    }
  }
}

TEST(PolicyNames, AFaultIsFoundAndAChoiceIsNone) {
  const Registry r{"t.def", "KIND\\(\"([^\"]+)\"", "home/", {"policy"}, {"vllm"}};
  const auto names = names_of(r, "KIND(\"orca\", a)\nKIND(\"vllm\", b)\n");
  ASSERT_EQ(names, (std::vector<std::string>{"orca", "vllm"}));
  const auto faults = [&](const std::string& source) {
    return name_faults(r, names, "x.cc", source).size();
  };
  EXPECT_EQ(faults("bool b = s == \"orca\";"), 1u);
  EXPECT_EQ(faults("if (s.starts_with(\"orca\")) return;"), 1u);
  EXPECT_EQ(faults("constexpr const char* kOld[] = {\"orca\"};"), 1u);
  EXPECT_EQ(faults("std::string s = \"orca\";"), 0u);
  EXPECT_EQ(faults("keys.set(\"load.scheduler\", \"orca\");"), 0u);
  EXPECT_EQ(faults("s = old ? \"orca\" : \"vllm\";"), 0u);
  EXPECT_EQ(faults("// s == \"orca\"\n"), 0u);
  EXPECT_EQ(faults("if (framework == \"vllm\") return;"), 0u);
  EXPECT_EQ(faults("if (e.policy != \"vllm\") return;"), 1u);
}

}  // namespace policy_names_test
}  // namespace orrery::house
