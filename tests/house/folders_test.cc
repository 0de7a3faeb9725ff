// Does a folder hold one kind of thing?
//
// Files of one kind of thing know each other: through their includes a folder is one web. A folder
// with two webs, each of at least two names, holds two kinds of thing. A name is a header with its
// source.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/house/plan.h"

namespace orrery::house {
namespace folders_test {

using ::std::filesystem::path;

const path kRoot = ORRERY_SOURCE_DIR;

// The names of a folder, and which of them a name includes.
using Folder = std::map<std::string, std::set<std::string>>;

std::map<std::string, Folder> folders_of(const std::map<std::string, std::string>& sources) {
  std::map<std::string, Folder> out;
  for (const auto& [file, text] : sources) {
    Folder& folder = out[path(file).parent_path().string()];
    std::set<std::string>& includes = folder[path(file).stem().string()];
    for (const Include& include : quoted_includes(text))
      if (path(include.target).parent_path() == path(file).parent_path())
        includes.insert(path(include.target).stem().string());
  }
  return out;
}

// The webs of at least two names each, as their first names in alphabetical order.
std::vector<std::string> webs(const Folder& folder) {
  std::map<std::string, std::string> first;  // the smallest known name of a name's web
  for (const auto& [name, includes] : folder) first[name] = name;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, includes] : folder) {
      for (const std::string& other : includes) {
        if (!first.contains(other)) continue;  // a list (.def), or a header that is gone
        const std::string least = std::min(first[name], first[other]);
        changed |= first[name] != least || first[other] != least;
        first[name] = first[other] = least;
      }
    }
  }
  std::map<std::string, int> sizes;
  for (const auto& [name, of] : first) ++sizes[of];
  std::vector<std::string> out;
  for (const auto& [of, size] : sizes)
    if (size > 1) out.push_back(of);
  return out;
}

TEST(Webs, AreNamesThatIncludeEachOther) {
  const auto folders = folders_of({
      {"a/x.h", ""},
      {"a/x.cc", "#include \"a/x.h\"\n#include \"a/y.h\"\n"},
      {"a/y.h", "#include \"b/x.h\"\n"},
      {"a/p.h", ""},
      {"a/q.cc", "#include \"a/p.h\"\n"},
      {"a/alone.h", ""},
      {"b/x.h", ""},
  });
  EXPECT_EQ(webs(folders.at("a")), (std::vector<std::string>{"p", "x"}));
  EXPECT_TRUE(webs(folders.at("b")).empty());
}

// The folders that may hold two kinds of thing: "<folder>: <reason>".
std::set<std::string> mixed_folders() {
  std::set<std::string> out;
  std::istringstream lines(read_text(kRoot / "tests/house/mixed_folders.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << line << ": without a reason";
    out.insert(line.substr(0, colon));
  }
  return out;
}

TEST(Tree, AFolderHoldsOneKindOfThing) {
  std::map<std::string, std::string> sources;
  for (const auto& file : sources_below(kRoot, "orrery")) sources[file] = read_text(kRoot / file);
  std::set<std::string> mixed;
  for (const auto& [folder, names] : folders_of(sources)) {
    const std::vector<std::string> found = webs(names);
    if (found.size() < 2) continue;
    mixed.insert(folder);
    EXPECT_TRUE(mixed_folders().contains(folder))
        << folder << ": what goes with " << found[0] << " and what goes with " << found[1]
        << " know nothing of each other: two folders?";
  }
  for (const std::string& folder : mixed_folders())
    EXPECT_TRUE(mixed.contains(folder)) << folder << " is one web: take it from the list";
}

}  // namespace folders_test
}  // namespace orrery::house
