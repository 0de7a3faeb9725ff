// Does every type of the library's headers have a name of its own? Two types of one name in
// different headers break the one-definition rule, which no compiler checks without link-time
// optimisation.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "tests/house/plan.h"

namespace orrery::house {
namespace names_test {

namespace fs = std::filesystem;

TEST(Tree, TypesOfHeadersHaveDistinctNames) {
  // Definitions in the namespace's own scope begin in the first column.
  const std::regex definition("^(?:struct|class|enum class) ([A-Z]\\w*)(?: final)?(?: :.*)? \\{");
  std::map<std::string, std::string> seen;  // by name: the header
  for (const auto& entry : fs::recursive_directory_iterator(ORRERY_SOURCE_DIR "/orrery")) {
    if (entry.path().extension() != ".h") continue;
    const std::string header = fs::relative(entry.path(), ORRERY_SOURCE_DIR).string();
    std::istringstream lines(read_text(entry.path()));
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (!std::regex_search(line, match, definition)) continue;
      const auto [at, fresh] = seen.emplace(match[1], header);
      EXPECT_TRUE(fresh) << match[1] << ": " << at->second << " and " << header;
    }
  }
  EXPECT_GT(seen.size(), 300u);
}

// Several test files are compiled as one, so that anonymous namespaces of a folder would be one.
TEST(Tree, HelpersOfTestFilesAreInANamespaceOfTheFilesName) {
  int read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(ORRERY_SOURCE_DIR "/tests")) {
    const std::string path = fs::relative(entry.path(), ORRERY_SOURCE_DIR).string();
    if (!path.ends_with("_test.cc")) continue;
    const std::string text = read_text(entry.path());
    const std::size_t own = text.find("\nnamespace orrery");
    ++read;
    if (own == text.npos) continue;
    EXPECT_EQ(text.find("\nnamespace {", own), text.npos)
        << path << ": expected `namespace " << entry.path().stem().string() << " {`";
  }
  EXPECT_GT(read, 300);
}

}  // namespace names_test
}  // namespace orrery::house
