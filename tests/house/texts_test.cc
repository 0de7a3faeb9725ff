// Do the texts of the repository keep the house's rules: no path that a clone lacks, classes in one
// source, functions and parameter lists of a size that one can take in, comments with a subject?
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/house/plan.h"
#include "tests/house/text_rules.h"

namespace orrery::house {
namespace texts_test {

using ::std::filesystem::path;

const path kRoot = ORRERY_SOURCE_DIR;

// The folder next to the checkout, written in pieces, because this file must not contain its name.
const std::string kBeside = std::string("..") + "/shared";

TEST(OutsidePaths, MachinesFoldersAndTheFolderBesideTheCheckout) {
  const auto faults = outside_paths("see " + kBeside +
                                    "/x.md\n(/"
                                    "home/me/x)\ngit a/work/b\n");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].line, 1);
  EXPECT_EQ(faults[1].line, 2);
  EXPECT_TRUE(outside_paths("../layers/x.yaml /tmp/x /usr/bin/env https://a.b/home/x").empty());
}

int parameters(const std::string& source) {
  const auto faults = long_parameter_lists(source, 0);
  if (faults.size() != 1) return -static_cast<int>(faults.size());
  return std::stoi(faults[0].what.substr(faults[0].what.find(' ')));
}

TEST(ParameterLists, AreCounted) {
  EXPECT_EQ(parameters("void f(int a, const Gpu& g = {1, 2},\n       std::map<int, int> m);"), 3);
  EXPECT_EQ(parameters("double f(const A&, B*, double x) {}"), 3);
  EXPECT_EQ(parameters("auto f = [](int a, /* none */ char b = ',') {};"), 2);
  EXPECT_EQ(parameters("void f(int a, std::function<void(const int&, int)> g);"), -2);
  EXPECT_EQ(parameters("f(a, b * c, d & e, x > y, g<int>(h), \"int a, int b\");"), 0);
  EXPECT_EQ(parameters("// void f(int a)\nR\"(f(int a))\""), 0);
}

TEST(ParameterLists, LongOnesAreFaultsWithNameAndLine) {
  const auto faults = long_parameter_lists("int a;\nvoid f(int a,\n  int b);", 1);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].line, 2);
  EXPECT_EQ(faults[0].what, "f: 2");
  EXPECT_TRUE(long_parameter_lists("void f(int a, int b);", 2).empty());
}

TEST(Functions, LongOnesAreFaultsWithHeadAndLine) {
  const std::string source =
      "namespace a {\nstruct S {\n  S() : x_{1}, y_(f({2})) {\n    if (x_) {\n    }\n  }\n"
      "  int x_ = 0;\n};\nconst T kTable = {\n1,\n2,\n3};\nint S::f(std::function<void(int)> g) "
      "const {\n"
      "  const auto h = [&] {\n    g(1);\n  };\n  return 2;\n}\n}\n";
  const auto faults = long_functions(source, 4);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].line, 13);
  EXPECT_EQ(faults[0].what, "int S::f(std::function<void(int)> g) const: 6");
  EXPECT_EQ(long_functions(source, 3).size(), 2u);  // the constructor has four lines
}

TEST(Functions, ClassesAreNamedByTheirMembers) {
  const auto classes = classes_with_members(
      "namespace n {\nint A::f() {\n}\nstd::vector<B::C> D::E::g(int a) {\n  A::h();\n}\nA::~A() "
      "{}\n"
      "bool F::operator==(const F& o) const {}\nvoid lib::free(G::H x) {}\n}\n");
  std::vector<std::string> names;
  for (const auto& c : classes) names.push_back(c.what);
  EXPECT_EQ(names, (std::vector<std::string>{"A", "D::E", "F"}));
}

TEST(Comments, LinesNeedASubject) {
  const auto faults = comments_without_subject(
      "// Of these a sequence has.\nint a;\n\n  // The blocks\n  // Of one.\n  /// What it is.\n");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].line, 1);
  EXPECT_EQ(faults[1].line, 5);
  EXPECT_EQ(faults[2].line, 6);
  EXPECT_TRUE(comments_without_subject("// Whatever\n// of one\nint a;  // Of one\n").empty());
}

TEST(Comments, WidthIsCountedInCharacters) {
  EXPECT_EQ(wide_comments("  // 0123456\n", 10).size(), 1u);
  EXPECT_TRUE(wide_comments("// µµµµµµµ\nint no_comment;", 10).empty());
}

// The files (by name, so that they may move) and folders that are let through, though they break
// the rule. The list only shrinks.
std::set<std::string> known_offenders(const std::string& rule) {
  std::set<std::string> paths;
  std::istringstream lines{read_text(kRoot / "tests/house/known_offenders.txt")};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(rule + " ")) paths.insert(line.substr(rule.size() + 1));
  }
  return paths;
}

// Every file that git tracks; empty where the tree is not a git checkout.
std::vector<std::string> tracked_files() {
  const std::string command =
      fmt::format("git -c safe.directory='*' -C '{}' ls-files 2>/dev/null", kRoot.string());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> files;
  std::array<char, 4096> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string name(line.data());
    files.push_back(name.substr(0, name.size() - 1));
  }
  return files;
}

// Sources of the whole tree, with the generated ones left out.
std::vector<std::string> all_sources() {
  std::vector<std::string> files;
  for (const char* folder : {"orrery", "apps", "bindings", "tests", "bench", "fuzz"}) {
    const auto below = sources_below(kRoot, folder);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

using Rule = std::function<std::vector<Fault>(const std::string& text)>;

void expect_kept(const std::string& rule, const std::vector<std::string>& files,
                 const Rule& faults) {
  const auto known = known_offenders(rule);
  for (const auto& file : files) {
    if (known.contains(path(file).filename())) continue;
    for (const auto& fault : faults(read_text(kRoot / file))) {
      ADD_FAILURE() << file << ':' << fault.line << ": " << rule << ": " << fault.what;
    }
  }
}

// One file names the folder of measured tables next to a checkout. No file names any other path
// outside the repository.
TEST(Tree, CitesNothingOutsideTheRepository) {
  const auto files = tracked_files();
  if (files.empty()) GTEST_SKIP() << "not a git checkout";
  const auto known = known_offenders("outside-path");
  std::vector<std::string> beside;
  for (const auto& file : files) {
    if (known.contains(path(file).filename()) || !std::filesystem::is_regular_file(kRoot / file))
      continue;
    const std::string text = read_text(kRoot / file);
    if (text.find('\0') != std::string::npos) continue;  // no text
    for (const auto& fault : outside_paths(text)) {
      const auto place = fmt::format("{}:{}: {}", file, fault.line, fault.what);
      if (fault.what == kBeside) {
        beside.push_back(place);
      } else {
        ADD_FAILURE() << place;
      }
    }
  }
  EXPECT_LE(beside.size(), 1u) << fmt::format("{}", fmt::join(beside, "\n"));
}

TEST(Tree, FunctionsHaveAtMost80Lines) {
  expect_kept("long-function", all_sources(),
              [](const std::string& text) { return long_functions(text, 80); });
}

// A class that is spread over sources is too large, or several classes.
TEST(Tree, EveryClassIsDefinedInOneSource) {
  const auto known = known_offenders("spread-class");
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> sources;
  for (const auto& file : all_sources()) {
    const path in(file);
    if (in.extension() != ".cc") continue;
    auto folder = in.begin();
    const std::string building = *folder++, room = *folder;
    for (const auto& one : classes_with_members(read_text(kRoot / file)))
      sources[{building + "/" + room, one.what}].push_back(file);
  }
  ASSERT_GT(sources.size(), 100u);
  for (const auto& [name, files] : sources) {
    if (files.size() == 1 || known.contains(name.second)) continue;
    ADD_FAILURE() << name.second << " is defined in " << fmt::format("{}", fmt::join(files, ", "));
  }
}

TEST(Tree, FunctionsTakeAtMostSevenParameters) {
  expect_kept("many-parameters", all_sources(),
              [](const std::string& text) { return long_parameter_lists(text, 7); });
}

TEST(Tree, CommentsHaveASubject) {
  expect_kept("no-subject", all_sources(), comments_without_subject);
}

TEST(Tree, CommentsAreAtMost100ColumnsWide) {
  expect_kept("wide-comment", all_sources(),
              [](const std::string& text) { return wide_comments(text, 100); });
}

}  // namespace texts_test
}  // namespace orrery::house
