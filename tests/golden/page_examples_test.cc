// The answers printed in README.md and docs/ are those of this build: blocks that begin with
// "$ orrery". A block may stop where the printed assumptions begin. ORRERY_REWRITE=1 writes them
// anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace {

const std::filesystem::path kRoot = ORRERY_SOURCE_DIR;

// Files that examples name as their reader's own stand beside this test.
std::string with_own_files(std::string command) {
  const std::size_t at = command.find("x100.yaml");
  return at == std::string::npos ? command : command.insert(at, "tests/golden/");
}

class Page : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Page, PrintsWhatThisBuildAnswers) {
  const std::vector<std::string> page = lines_of(read_file(kRoot / GetParam()));
  std::string written;
  int commands = 0;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const std::size_t indent = std::min(page[i].find_first_not_of(' '), page[i].size());
    written += page[i] + "\n";
    if (!page[i].substr(indent).starts_with(kPrompt)) continue;
    const std::string command = page[i].substr(indent + kPrompt.size());
    ++commands;
    std::vector<std::string> shown;
    const auto inside = [&](const std::string& line) {
      return indent > 0 ? line.find_first_not_of(' ') >= indent && !line.empty() : line != "```";
    };
    while (i + 1 < page.size() && inside(page[i + 1])) shown.push_back(page[++i].substr(indent));
    const Result r = run_program(with_own_files(command));
    EXPECT_EQ(r.err, "") << command;
    std::vector<std::string> printed = lines_of(r.out);
    if (std::find(shown.begin(), shown.end(), "assumed") == shown.end()) {
      const auto assumed = std::find(printed.begin(), printed.end(), "assumed");
      if (assumed != printed.end()) printed.erase(assumed - 1, printed.end());
    }
    if (!rewriting()) {
      EXPECT_EQ(shown, printed) << command << how_to_rewrite();
    }
    for (const std::string& line : printed)
      written += (line.empty() ? "" : std::string(indent, ' ') + line) + "\n";
  }
  EXPECT_GT(commands, 0);
  if (rewriting()) write_text(kRoot / GetParam(), written);
}

INSTANTIATE_TEST_SUITE_P(Golden, Page, testing::Values("README.md", "docs/adding-a-gpu.md"),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace orrery::golden
