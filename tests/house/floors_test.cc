// Does every file include only what its floor allows (DESIGN.md, cmake/rooms.txt)?
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/plan.h"

namespace orrery::house {
namespace floors_test {

using ::std::filesystem::path;

const path kRoot = ORRERY_SOURCE_DIR;

Plan plan_of_tree() { return parse_plan(read_text(kRoot / "cmake/rooms.txt")); }

// A small house: base below, two rooms side by side on floor 1, and one above with inner rooms.
const Plan kHouse = parse_plan(
    "0 base\n    front b.h\n1 hardware\n    front g.h\n1 model\n    front m.h\n2 workload\n"
    "    inner ops < plan, lists < kinds/* < program; notes\n    front ops/op.h\n");

TEST(Rooms, ListIsParsedAndChecked) {
  const Plan plan = parse_plan("# comment\n0 base\n    front x/a.h\n\n12 attic\n");
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan.at("attic").floor, 12);
  EXPECT_TRUE(plan.at("base").front.contains("x/a.h"));
  EXPECT_THROW(parse_plan("base 0\n"), std::runtime_error);
  EXPECT_THROW(parse_plan("0 base\n1 base\n"), std::runtime_error);
  EXPECT_THROW(parse_plan("    front a.h\n"), std::runtime_error);
  EXPECT_THROW(parse_plan("0 base\n    front a.h\n    front a.h\n"), std::runtime_error);
  EXPECT_THROW(parse_plan("0 base\n    inner a > b\n"), std::runtime_error);
}

TEST(Rooms, InnerRoomsHaveFloors) {
  const Room& workload = kHouse.at("workload");
  EXPECT_EQ(workload.inner.at("ops"), 0);
  EXPECT_EQ(workload.inner.at("plan"), 1);
  EXPECT_EQ(workload.inner.at("lists"), 1);
  EXPECT_EQ(workload.shelves.at("kinds"), 2);
  EXPECT_EQ(workload.inner.at("program"), 3);
  EXPECT_TRUE(workload.apart.contains("notes"));
  EXPECT_FALSE(workload.apart.contains("ops"));
}

// The faults of a source of `path` that includes `target` alone.
std::size_t faults(std::string_view path, std::string_view target) {
  return include_faults(kHouse, path, "#include \"" + std::string(target) + "\"").size();
}

TEST(Includes, InsideARoomOnlyLowerInnerRoomsAreAllowed) {
  EXPECT_EQ(faults("orrery/workload/plan/p.cc", "orrery/workload/plan/q.h"), 0u);
  EXPECT_EQ(faults("orrery/workload/program/p.cc", "orrery/workload/ops/private.h"), 0u);
  EXPECT_EQ(faults("orrery/workload/plan/p.cc", "orrery/workload/lists/l.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/ops/p.cc", "orrery/workload/program/l.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/program/p.cc", "orrery/workload/notes/n.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/notes/n.cc", "orrery/workload/ops/op.h"), 1u);
}

TEST(Includes, FoldersOfAShelfAreInnerRoomsOfOneFloor) {
  EXPECT_EQ(faults("orrery/workload/kinds/a/p.cc", "orrery/workload/kinds/a/q.h"), 0u);
  EXPECT_EQ(faults("orrery/workload/kinds/a/p.cc", "orrery/workload/plan/q.h"), 0u);
  EXPECT_EQ(faults("orrery/workload/program/p.cc", "orrery/workload/kinds/a/q.h"), 0u);
  EXPECT_EQ(faults("orrery/workload/kinds/a/p.cc", "orrery/workload/kinds/b/q.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/plan/p.cc", "orrery/workload/kinds/a/q.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/kinds/p.cc", "orrery/workload/kinds/a/q.h"), 1u);
}

TEST(Includes, AFileOutsideTheInnerRoomsIsAFault) {
  EXPECT_EQ(faults("orrery/workload/p.cc", "orrery/base/b.h"), 1u);
  EXPECT_EQ(faults("orrery/workload/shed/p.cc", "orrery/base/b.h"), 1u);
  EXPECT_EQ(faults("orrery/base/shed/p.cc", "orrery/base/b.h"), 1u);
}

TEST(Includes, OtherRoomsAndFacesUseTheFrontOnly) {
  EXPECT_EQ(faults("orrery/model/m.cc", "orrery/base/b.h"), 0u);
  EXPECT_EQ(faults("orrery/model/m.cc", "orrery/base/private.h"), 1u);
  EXPECT_EQ(faults("apps/cli/main.cc", "orrery/workload/ops/op.h"), 0u);
  EXPECT_EQ(faults("apps/cli/main.cc", "orrery/workload/ops/private.h"), 1u);
  EXPECT_EQ(faults("tests/unit/base/b_test.cc", "orrery/base/private.h"), 0u);
}

TEST(Includes, OnlyQuotedOnesAreReadWithTheirLines) {
  const auto found = quoted_includes(
      "#include <vector>\n\n  # include \"orrery/base/units.h\"  // x\n"
      "// #include \"orrery/no/no.h\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].target, "orrery/base/units.h");
}

TEST(Includes, LowerFloorsAndTheOwnRoomAreAllowed) {
  EXPECT_TRUE(include_faults(kHouse, "orrery/workload/ops/a.cc",
                             "#include \"orrery/workload/ops/a.h\"\n"
                             "#include \"orrery/model/m.h\"\n"
                             "#include \"orrery/base/b.h\"\n#include <fmt/format.h>\n")
                  .empty());
  EXPECT_EQ(faults("apps/cli/main.cc", "apps/cli/table.h"), 0u);
}

TEST(Includes, TheSameOrAHigherFloorIsAFaultWithFileAndLine) {
  const auto same =
      include_faults(kHouse, "orrery/model/m.h", "\n#include \"orrery/hardware/g.h\"\n");
  ASSERT_EQ(same.size(), 1u);
  EXPECT_TRUE(same[0].starts_with("orrery/model/m.h:2: ")) << same[0];
  EXPECT_EQ(
      include_faults(kHouse, "orrery/base/b.h", "#include \"orrery/workload/ops/op.h\"").size(),
      1u);
}

TEST(Includes, UnknownRoomsAndRelativePathsAreFaults) {
  EXPECT_EQ(include_faults(kHouse, "orrery/cellar/c.h", "").size(), 1u);
  EXPECT_EQ(include_faults(kHouse, "orrery/base/b.cc", "#include \"orrery/cellar/c.h\"").size(),
            1u);
  EXPECT_EQ(include_faults(kHouse, "orrery/base/b.cc", "#include \"b.h\"").size(), 1u);
  EXPECT_EQ(include_faults(kHouse, "orrery/base/b.cc", "#include \"apps/cli/table.h\"").size(), 1u);
  EXPECT_EQ(include_faults(kHouse, "tests/law/l.cc", "#include \"apps/cli/table.h\"").size(), 1u);
}

TEST(Tree, EveryIncludeKeepsTheFloors) {
  const Plan plan = plan_of_tree();
  std::size_t files = 0;
  for (const char* folder : {"orrery", "apps", "bindings", "tests", "bench", "fuzz"}) {
    for (const auto& file : sources_below(kRoot, folder)) {
      ++files;
      for (const auto& fault : include_faults(plan, file, read_text(kRoot / file))) {
        ADD_FAILURE() << fault;
      }
    }
  }
  EXPECT_GT(files, 0u);
}

TEST(Tree, TheFoldersAreTheRooms) {
  std::set<std::string> listed;
  const Plan plan = plan_of_tree();
  for (const auto& [name, room] : plan) {
    if (room.inner.empty()) listed.insert(name);
    for (const auto& [inner, floor] : room.inner) listed.insert(name + "/" + inner);
  }
  std::set<std::string> folders;
  for (const auto& file : sources_below(kRoot, "orrery")) {
    const path folder = path(file).parent_path().lexically_relative("orrery");
    const auto room = plan.find(folder.begin()->string());
    const path shelf = folder.parent_path().lexically_relative(*folder.begin());
    const bool on_shelf = room != plan.end() && room->second.shelves.contains(shelf.string());
    if (!on_shelf) folders.insert(folder.generic_string());
  }
  EXPECT_EQ(folders, listed);
}

// A front lists only headers that another room or a face uses, so that the manual is no longer than
// needed.
TEST(Tree, EveryFrontHeaderIsUsedByAnotherRoomOrAFace) {
  std::map<std::string, std::set<std::string>> users;  // header -> top folders that include it
  for (const char* folder : {"orrery", "apps", "bindings"}) {
    for (const auto& file : sources_below(kRoot, folder)) {
      const auto user = file.substr(0, file.find('/', std::string("orrery/").size()) + 1);
      for (const auto& include : quoted_includes(read_text(kRoot / file))) {
        users[include.target].insert(user);
      }
    }
  }
  for (const auto& [name, room] : plan_of_tree()) {
    for (const auto& header : room.front) {
      auto& by = users["orrery/" + name + "/" + header];
      by.erase("orrery/" + name + "/");
      EXPECT_FALSE(by.empty()) << name << ": front " << header << " is used by no other room";
    }
  }
}

// A header that its source includes first is compiled without other headers before it, and
// therefore includes everything that it uses. (The build compiles headers without a source on their
// own.)
TEST(Tree, EverySourceIncludesItsHeaderFirst) {
  for (const char* folder : {"orrery", "apps"}) {
    for (const auto& file : sources_below(kRoot, folder)) {
      if (!file.ends_with(".cc")) continue;
      const std::string header = file.substr(0, file.size() - 2) + "h";
      if (!std::filesystem::exists(kRoot / header)) continue;
      const std::string source = read_text(kRoot / file);
      const auto first = source.find("#include");
      ASSERT_NE(first, std::string::npos) << file;
      EXPECT_EQ(source.compare(first, header.size() + 11, "#include \"" + header + "\""), 0)
          << file << ": the first include is not \"" << header << '"';
    }
  }
}

}  // namespace floors_test
}  // namespace orrery::house
