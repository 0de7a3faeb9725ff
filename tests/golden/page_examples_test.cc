// Every command that README.md and docs/ print runs as printed.
//
// A block that begins with "$ orrery" shows a command and its output: the output is compared. The
// output may stop where the printed assumptions begin. ORRERY_REWRITE=1 writes it anew. Any other
// line of a code block that begins with "orrery" must end with exit code 0. The commands of a page
// run one after the other in one folder, which holds the files of tests/golden/reader: what one
// command writes, the next one reads. The laboratory book (docs/lab) is of its day and not run.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace page_examples_test {

namespace fs = std::filesystem;

const fs::path kRoot = ORRERY_SOURCE_DIR;

// Beginnings of commands that are not run, each with the reason.
constexpr std::pair<std::string_view, std::string_view> kNotRun[] = {
    {"orrery serve", "serves until it is ended"},
    {"orrery validate", "needs the measured tables, and minutes"},
    {"orrery fit network", "needs the measured tables"},
    {"orrery fit energy", "needs the measured tables"},
    {"orrery fit kernels", "needs the measured tables or a sweep, and minutes"},
    {"orrery fit engines", "needs the measured tables, and minutes"},
    {"orrery fit services", "needs the measured tables, and an hour"},
    {"orrery suite run", "the suites have a test of their own"},
    {"orrery suite coverage", "answers a whole suite, which has a test of its own"},
    {"orrery simulate -m llama-3-8b -g h100-sxm --set engine.scheduler.policy=few-at-a-time",
     "needs the scheduler of the page, which cmake/docs.cmake compiles"},
    {"orrery simulate -m llama-3-8b -g h100-sxm --replicas 4 --rate 60 --router fill-first",
     "needs the router of the page"},
    {"orrery simulate -m llama-3-8b -g h100-sxm --rate 8 --arrivals bursts",
     "needs the arrival process of the page"},
    {"orrery network all-to-all --bytes 64M --gpus 16 -g h100-sxm --fidelity flow --flow-algorithm "
     "pairwise",
     "needs the collective algorithm of the page"},
};

// Files of the repository that the pages call by names of their readers.
constexpr std::pair<const char*, const char*> kFiles[] = {
    {"rank0.json", "fuzz/corpus/kineto/data_parallel.json"},
    {"run.log", "fuzz/corpus/training_log/megatron.log"},
    {"traces/llama.0.et", "fuzz/corpus/chakra/small.et"},
    {"hgx.yml", "tests/golden/hgx-astra-sim.yml"},
};

// Where the pictures of the pages are. Picture.* runs the commands that draw them.
constexpr std::string_view kDraws = "--svg docs/images/";

bool is_run(const std::string& command) {
  return command.find(kDraws) == std::string::npos &&
         std::none_of(std::begin(kNotRun), std::end(kNotRun),
                      [&](const auto& skipped) { return command.starts_with(skipped.first); });
}

// The folder of a reader who follows a page.
void lay_out(const fs::path& folder) {
  fs::copy(kRoot / "tests/golden/reader", folder, fs::copy_options::recursive);
  for (const char* whole : {"scenarios", "docs"})
    fs::create_directory_symlink(kRoot / whole, folder / whole);
  for (const auto& [name, from] : kFiles) {
    fs::create_directories((folder / name).parent_path());
    fs::copy_file(kRoot / from, folder / name);
  }
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {"README.md"};
  for (const char* folder : {"docs", "docs/walkthroughs"}) {
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".md") found.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Page : public testing::TestWithParam<fs::path> {
 protected:
  Page() { lay_out(folder_.path()); }
  Result run(const std::string& command) const { return run_in(folder_.path(), command); }

  // Runs the command at lines[i] and compares its output with the lines below it, or replaces
  // these.
  void compare(const std::vector<std::string>& lines, std::size_t& i, std::size_t indent,
               std::string& written) const {
    std::string command = lines[i].substr(indent + 2);  // after "$ "
    while (command.ends_with("\\") && i + 1 < lines.size()) {
      written += lines[++i] + "\n";
      command.back() = ' ';
      command += lines[i].substr(indent);
    }
    std::vector<std::string> shown;
    const auto inside = [&](const std::string& line) {
      return indent > 0 ? line.find_first_not_of(' ') >= indent && !line.empty() : line != "```";
    };
    while (i + 1 < lines.size() && inside(lines[i + 1])) shown.push_back(lines[++i].substr(indent));
    const Result r = run(command);
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

 private:
  Scratch folder_;
};

TEST_P(Page, CommandsRunAsPrinted) {
  const std::vector<std::string> lines = lines_of(read_file(kRoot / GetParam()));
  std::string written;
  bool fenced = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    written += lines[i] + "\n";
    if (lines[i].starts_with("```")) fenced = !fenced;
    const std::size_t indent = std::min(lines[i].find_first_not_of(' '), lines[i].size());
    if (!fenced && indent < 4) continue;
    std::string command = lines[i].substr(indent);
    if (command.starts_with(kPrompt)) {
      compare(lines, i, indent, written);
      continue;
    }
    if (!command.starts_with("orrery ") && !command.starts_with("printf ")) continue;
    while (command.ends_with("\\") && i + 1 < lines.size()) {
      written += lines[++i] + "\n";
      command.back() = ' ';
      command += lines[i];
    }
    if (!is_run(command)) continue;
    const Result r = run(command);
    EXPECT_EQ(r.code, 0) << command << "\n" << r.err << r.out;
  }
  if (rewriting()) write_text(kRoot / GetParam(), written);
}

INSTANTIATE_TEST_SUITE_P(Golden, Page, testing::ValuesIn(pages()), [](const auto& info) {
  const std::string folder = info.param.has_parent_path() ? "docs_" : "";
  return folder + test_name(info.param);
});

// The commands of all pages that draw their pictures, by the picture's name.
std::multimap<std::string, std::string> drawing_commands() {
  std::multimap<std::string, std::string> found;
  for (const fs::path& page : pages()) {
    const std::vector<std::string> lines = lines_of(read_file(kRoot / page));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string command =
          lines[i].substr(std::min(lines[i].find_first_not_of(' '), lines[i].size()));
      if (!command.starts_with("orrery ")) continue;
      while (command.ends_with("\\") && i + 1 < lines.size()) {
        command.back() = ' ';
        command += lines[++i];
      }
      const std::size_t at = command.find(kDraws);
      if (at == std::string::npos) continue;
      const std::size_t begin = at + kDraws.size();
      found.emplace(command.substr(begin, command.find(' ', begin) - begin), command);
    }
  }
  return found;
}

// Every picture that a page shows is what the command of a page draws, and no other one is kept.
TEST(Picture, IsDrawnByTheCommandOfItsPage) {
  const Scratch s;
  const std::multimap<std::string, std::string> commands = drawing_commands();
  std::set<std::string> kept;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs/images"))
    kept.insert(entry.path().filename());
  for (const std::string& name : kept)
    EXPECT_EQ(commands.count(name), 1u) << "commands that draw docs/images/" << name;
  for (auto [name, command] : commands) {
    EXPECT_TRUE(rewriting() || kept.contains(name)) << command;
    const fs::path drawn = s.path() / name;
    command.replace(command.find(kDraws) + 6, kDraws.size() - 6, s.path().string() + "/");
    const Result r = run_in(kRoot, command);
    ASSERT_EQ(r.code, 0) << command << r.err;
    const std::string svg = read_file(drawn);
    EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << command;
    if (rewriting()) {
      write_text(kRoot / "docs/images" / name, svg);
    } else {
      EXPECT_TRUE(svg == read_file(kRoot / "docs/images" / name)) << command << how_to_rewrite();
    }
  }
}

TEST(Picture, IsShownByAPage) {
  std::string text;
  for (const fs::path& page : pages()) text += read_file(kRoot / page);
  for (const auto& entry : fs::directory_iterator(kRoot / "docs/images"))
    EXPECT_NE(text.find("images/" + entry.path().filename().string() + ")"), std::string::npos)
        << entry.path() << " is in no page";
}

TEST(Picture, NeedsSeveralRates) {
  const Result r =
      run_program("simulate -m llama-3-8b -g h100-sxm --rate 4 --plot /tmp/none/x.svg");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--plot: the picture `load` needs several rates"), std::string::npos)
      << r.err;
}

}  // namespace page_examples_test
}  // namespace orrery::golden
