// Does every mutant of tools/mutants.txt change a text that its file contains exactly once?
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/house/plan.h"

namespace orrery::house {
namespace mutants_test {

TEST(Mutants, ChangeATextThatOccursOnce) {
  const std::filesystem::path root = ORRERY_SOURCE_DIR;
  std::istringstream lines{read_text(root / "tools/mutants.txt")};
  std::string name, file;
  int mutants = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#') || line.starts_with("+ ")) continue;
    if (!line.starts_with("- ")) {
      name = file, file = line;
      continue;
    }
    ++mutants;
    const std::string text = line.substr(2), source = read_text(root / file);
    const std::size_t first = source.find(text);
    EXPECT_NE(first, std::string::npos) << name << ": " << file << " has no '" << text << "'";
    EXPECT_EQ(first, source.rfind(text)) << name << ": " << file << " repeats '" << text << "'";
  }
  EXPECT_GT(mutants, 20);
}

}  // namespace mutants_test
}  // namespace orrery::house
