// Does every file include only what its floor allows (DESIGN.md, cmake/rooms.txt)?
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/house/includes.h"

namespace orrery::house {
namespace {

using ::std::filesystem::path;

const path kRoot = ORRERY_SOURCE_DIR;

Floors floors_of_tree() { return parse_rooms(read_text(kRoot / "cmake/rooms.txt")); }

// A small house: base below, two rooms side by side on floor 1, one above.
const Floors kHouse = {{"base", 0}, {"hardware", 1}, {"model", 1}, {"workload", 2}};

TEST(Rooms, ListIsParsedAndChecked) {
  EXPECT_EQ(parse_rooms("# comment\n0 base\n\n12 attic\n"), (Floors{{"base", 0}, {"attic", 12}}));
  EXPECT_THROW(parse_rooms("base 0\n"), std::runtime_error);
  EXPECT_THROW(parse_rooms("0 base\n1 base\n"), std::runtime_error);
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
  EXPECT_TRUE(include_faults(kHouse, "orrery/workload/a.cc",
                             "#include \"orrery/workload/a.h\"\n#include \"orrery/model/m.h\"\n"
                             "#include \"orrery/base/b.h\"\n#include <fmt/format.h>\n")
                  .empty());
  EXPECT_TRUE(include_faults(kHouse, "apps/cli/main.cc",
                             "#include \"apps/cli/table.h\"\n#include \"orrery/workload/a.h\"\n")
                  .empty());
}

TEST(Includes, TheSameOrAHigherFloorIsAFaultWithFileAndLine) {
  const auto same =
      include_faults(kHouse, "orrery/model/m.h", "\n#include \"orrery/hardware/g.h\"\n");
  ASSERT_EQ(same.size(), 1u);
  EXPECT_TRUE(same[0].starts_with("orrery/model/m.h:2: ")) << same[0];
  EXPECT_EQ(include_faults(kHouse, "orrery/base/b.h", "#include \"orrery/workload/a.h\"").size(),
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
  const Floors floors = floors_of_tree();
  std::size_t files = 0;
  for (const char* folder : {"orrery", "apps", "bindings", "tests", "bench", "fuzz"}) {
    for (const auto& file : sources_below(kRoot, folder)) {
      ++files;
      for (const auto& fault : include_faults(floors, file, read_text(kRoot / file))) {
        ADD_FAILURE() << fault;
      }
    }
  }
  EXPECT_GT(files, 0u);
}

TEST(Tree, TheFoldersAreTheRooms) {
  std::set<std::string> listed;
  for (const auto& [room, floor] : floors_of_tree()) listed.insert(room);
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "orrery")) {
    if (entry.is_directory()) folders.insert(entry.path().filename().string());
  }
  EXPECT_EQ(folders, listed);
}

// A header that stands first in its own source is compiled with nothing before it, so it is
// complete in itself. (The build compiles headers without a source on their own.)
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

}  // namespace
}  // namespace orrery::house
