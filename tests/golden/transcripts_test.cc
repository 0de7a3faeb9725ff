// Do commands print the pinned output? A file *.txt of tests/golden has the command on its first
// line and the output below.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace transcripts_test {

std::vector<std::filesystem::path> transcripts() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ORRERY_SOURCE_DIR "/tests/golden")) {
    if (entry.path().extension() == ".txt") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Transcript : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Transcript, PrintsWhatItPrinted) {
  const std::string text = read_file(GetParam());
  const std::string command = text.substr(0, text.find('\n'));
  ASSERT_TRUE(command.starts_with(kPrompt)) << GetParam();
  const Result r = run_program(command.substr(kPrompt.size()));
  EXPECT_EQ(r.err, "");
  const std::string printed = command + "\n" + r.out;
  if (rewriting()) return write_text(GetParam(), printed);
  EXPECT_EQ(printed, text) << how_to_rewrite();
}

TEST_P(Transcript, FitsEightyColumns) {
  std::vector<std::string> lines = lines_of(read_file(GetParam()));
  if (lines.at(0).find(" -o ") != std::string::npos) return;  // for programs, not for people
  lines.erase(lines.begin());
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
}

INSTANTIATE_TEST_SUITE_P(Golden, Transcript, testing::ValuesIn(transcripts()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace transcripts_test
}  // namespace orrery::golden
