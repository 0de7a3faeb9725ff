// Is tools/packages.txt the one list of packages, and does it have the programs that documents and
// tests run? CTest runs every test with tools/listed_programs.py's folder as its PATH; these tests
// look at what does not go through PATH, or is not run on every machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

// The folder of the programs that a bare Debian has after `./dev setup test`.
const path& listed_programs() {
  static const path folder = [] {
    path made = path(testing::TempDir()) / "listed_programs";
    const std::string command = "'" + (kRoot / "tools/listed_programs.py").string() + "' '" +
                                made.string() + "' build test";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return made;
  }();
  return folder;
}

bool is_listed(const std::string& program) {
  return std::filesystem::is_symlink(listed_programs() / program);
}

// The programs that a line of shell starts: the first words of its commands. Text in quotes is
// left out.
std::vector<std::string> programs_of(std::string line) {
  static const std::regex kQuoted("'[^']*'|\"[^\"]*\""), kSeparator("\\|\\||&&|\\||;");
  line = std::regex_replace(line, kQuoted, "X");
  std::vector<std::string> programs;
  for (std::sregex_token_iterator it(line.begin(), line.end(), kSeparator, -1), end; it != end;
       ++it) {
    std::istringstream words(it->str());
    if (std::string first; words >> first) programs.push_back(first);
  }
  return programs;
}

TEST(Packages, TheProgramsOfALineAreFound) {
  EXPECT_EQ(programs_of("orrery man x | man -l - && printf 'a|b; c' >f"),
            (std::vector<std::string>{"orrery", "man", "printf"}));
  EXPECT_TRUE(is_listed("bash"));
  EXPECT_TRUE(is_listed("g++"));
  EXPECT_TRUE(is_listed("man"));
  EXPECT_FALSE(is_listed("chromium")) << "a program of a later stage";
}

// The lines that tests/golden/page_examples_test.cc runs.
TEST(Packages, HaveTheProgramsThatPagesRun) {
  std::vector<path> pages = {kRoot / "README.md"};
  for (const char* folder : {"docs", "docs/walkthroughs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  static const std::regex kRun("^ *(?:\\$ )?((?:orrery|printf) .*)");
  int programs = 0;
  for (const path& page : pages) {
    std::istringstream lines{read_text(page)};
    for (std::string line; std::getline(lines, line);) {
      std::smatch run;
      if (!std::regex_match(line, run, kRun)) continue;
      // A '#' begins a remark for the reader.
      const std::string command = run[1].str();
      for (const std::string& program : programs_of(command.substr(0, command.find(" #")))) {
        if (program == "orrery") continue;
        ++programs;
        EXPECT_TRUE(is_listed(program)) << page << ": " << program << " in: " << line;
      }
    }
  }
  EXPECT_GT(programs, 0);
}

TEST(Packages, HaveTheProgramsThatTestsRunByTheirPath) {
  static const std::regex kAbsolute("(?:^|[^\\w.])/(?:usr/)?s?bin/([a-z][a-z0-9+._-]*)");
  for (const char* folder : {"tests", "cmake"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
      const std::string kind = entry.path().extension();
      if (kind != ".cc" && kind != ".py" && kind != ".cmake") continue;
      const std::string text = read_text(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), kAbsolute), end; it != end; ++it) {
        const std::string program = (*it)[1];
        EXPECT_TRUE(is_listed(program)) << entry.path() << ": " << program;
      }
    }
  }
}

}  // namespace packages_test
}  // namespace orrery::house
