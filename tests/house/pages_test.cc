// Do the links of the Markdown pages lead somewhere, and do the source files that they name exist?
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/plan.h"

namespace orrery::house {
namespace pages_test {

namespace fs = std::filesystem;

const fs::path kPagesRoot = ORRERY_SOURCE_DIR;

// Files that a page tells its reader to write.
constexpr std::string_view kToBeWritten[] = {"hadamard.cc",          "few_at_a_time.cc",
                                             "router_fill_first.cc", "arrivals_bursts.cc",
                                             "gateway_trace.cc",     "pairwise.cc"};

std::vector<fs::path> all_pages() {
  std::vector<fs::path> pages = {kPagesRoot / "README.md", kPagesRoot / "CONTRIBUTING.md",
                                 kPagesRoot / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kPagesRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

// Every first group of `pattern` in `text`.
std::vector<std::string> found(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
    all.push_back((*i)[1]);
  return all;
}

TEST(Pages, LinksLeadToFiles) {
  for (const fs::path& page : all_pages()) {
    for (const std::string& link : found(read_text(page), R"(\]\(([^)#\s]+)(?:#[^)]*)?\))")) {
      if (link.starts_with("http")) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / link)) << page << ": " << link;
    }
  }
}

// Pages of the laboratory book and the changelog are of their day.
TEST(Pages, NamedSourcesExist) {
  for (const fs::path& page : all_pages()) {
    if (page.parent_path().filename() == "lab" || page.filename() == "CHANGELOG.md") continue;
    for (const std::string& path :
         found(read_text(page),
               "((?:orrery|tests|catalog|scenarios|apps|tools|cmake|bench|fuzz)/"
               "[A-Za-z0-9_./-]+\\.(?:h|cc|def|yaml|py|txt|json|cmake))")) {
      const std::string file = fs::path(path).filename();
      if (std::ranges::find(kToBeWritten, file) != std::end(kToBeWritten)) continue;
      EXPECT_TRUE(fs::exists(kPagesRoot / path)) << page << ": " << path;
    }
  }
}

}  // namespace pages_test
}  // namespace orrery::house
