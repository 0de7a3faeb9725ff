// Is tools/packages.txt the one list of packages?
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/house/plan.h"

namespace orrery::house {
namespace packages_test {

using ::std::filesystem::path;

const path kRoot = ORRERY_SOURCE_DIR;

// Package -> stage, in the form "stage package"; '#' comments.
std::map<std::string, std::string> listed_packages() {
  std::map<std::string, std::string> packages;
  std::istringstream lines{read_text(kRoot / "tools/packages.txt")};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words{line};
    std::string stage, package, rest;
    words >> stage >> package;
    EXPECT_FALSE(words >> rest) << line;
    EXPECT_TRUE(stage == "build" || stage == "test" || stage == "develop" || stage == "page")
        << line;
    EXPECT_TRUE(packages.emplace(package, stage).second) << package << " stands twice";
  }
  return packages;
}

// The words of a script or Containerfile, without its comments.
std::set<std::string> words_of(const std::string& file) {
  std::set<std::string> found;
  std::istringstream lines{read_text(kRoot / file)};
  for (std::string line; std::getline(lines, line);) {
    static const std::regex kComment("^\\s*#.*");
    if (std::regex_match(line, kComment)) continue;
    std::istringstream words{line};
    for (std::string word; words >> word;) found.insert(word);
  }
  return found;
}

TEST(Packages, TheContainerInstallsByDevSetupOnly) {
  const auto packages = listed_packages();
  ASSERT_GT(packages.size(), 0u);
  const std::string container = read_text(kRoot / "Containerfile");
  EXPECT_NE(container.find("RUN ./dev setup build\n"), std::string::npos);
  EXPECT_NE(container.find("COPY tools/packages.txt "), std::string::npos);
  EXPECT_EQ(container.find("apt"), std::string::npos) << "the Containerfile calls apt itself";
  const auto words = words_of("Containerfile");
  for (const auto& [package, stage] : packages) {
    EXPECT_FALSE(words.contains(package)) << package << " stands in the Containerfile too";
  }
}

TEST(Packages, ScriptsInstallFromTheListOnly) {
  const std::string dev = read_text(kRoot / "dev");
  EXPECT_NE(dev.find("tools/packages.txt"), std::string::npos);
  static const std::regex kInstall("apt(-get)? [^\n]*install[^\n]*");
  for (const char* script : {"dev", ".ci/run"}) {
    const std::string text = read_text(kRoot / script);
    for (std::sregex_iterator it(text.begin(), text.end(), kInstall), end; it != end; ++it) {
      EXPECT_NE(it->str().find("\"${missing[@]}\""), std::string::npos)
          << script << ": " << it->str();
    }
  }
}

}  // namespace packages_test
}  // namespace orrery::house
