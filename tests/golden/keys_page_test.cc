// docs/keys.md lists the keys as the program declares them. ORRERY_REWRITE=1 writes the list
// anew.
#include <gtest/gtest.h>

#include <string>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace keys_page_test {

TEST(KeysPage, ListsTheKeysAsDeclared) {
  const std::filesystem::path page = ORRERY_SOURCE_DIR "/docs/keys.md";
  const std::string begin = "<!-- orrery schema -o md -->\n", end = "<!-- end -->\n";
  const std::string text = read_file(page);
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const Result printed = run_program("schema -o md");
  ASSERT_EQ(printed.code, 0) << printed.err;
  const std::string wanted = text.substr(0, from) + begin + printed.out + text.substr(to);
  if (rewriting()) return write_text(page, wanted);
  EXPECT_TRUE(text == wanted) << "docs/keys.md is out of date" << how_to_rewrite();
}

}  // namespace keys_page_test
}  // namespace orrery::golden
