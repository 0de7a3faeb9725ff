#include "orrery/network/algorithms/nccl_tables.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"

namespace orrery {
namespace nccl_tables_test {

std::string bundled_text() { return std::string(Bundle().find("network/nccl-2.30.yaml")->content); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    read_nccl_tables(parse_yaml(text, "nccl.yaml"));
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

// Single values, looked up in NCCL's tuning.cc.
TEST(NcclTables, HoldTheNumbersOfTheFile) {
  const NcclTables& t = nccl_tables(Bundle());
  const auto row = [](CollectiveAlgorithm a) { return static_cast<std::size_t>(a); };
  EXPECT_EQ(t.version, "2.30");
  EXPECT_EQ(t.base[row(CollectiveAlgorithm::kTree)][1], 14);
  EXPECT_EQ(t.network[row(CollectiveAlgorithm::kNvlsTree)][2], 20.9);
  EXPECT_EQ(t.base[row(CollectiveAlgorithm::kNvls)][2], 0);  // not listed
  EXPECT_EQ(ring_ll(t.network), 2.7);
  EXPECT_EQ(t.ll_one_node[2], 141);
  EXPECT_EQ(t.ll_amd[1], 22.5);
  EXPECT_EQ(t.tree_ll128[3][1], 31.67);
  EXPECT_EQ(t.tree_correction[2][11], .5);
  EXPECT_EQ(t.graph.nvlink_across, 0.86);
}

TEST(NcclTables, AreReadOnce) { EXPECT_EQ(&nccl_tables(Bundle()), &nccl_tables(Bundle())); }

TEST(NcclTables, TheLatestVersionIsTaken) {
  const Bundle newer = Bundle().replacing(
      "network", {{"network/nccl-2.9.yaml", replaced(bundled_text(), "\"2.30\"", "\"2.9\"")},
                  {"network/nccl-2.31.yaml", replaced(bundled_text(), "\"2.30\"", "\"2.31\"")},
                  {"network/nccl-2.4.yaml", "not read"}});
  EXPECT_EQ(nccl_tables(newer).version, "2.31");
  EXPECT_THROW(nccl_tables(Bundle().replacing("network", {})), InputError);
}

TEST(NcclTables, AVersionHasTheTablesOfTheNearestOne) {
  const auto version = [](int minor, int patch = -1) {
    return nccl_tables(Bundle(), LibraryVersion{2, minor, patch}).version;
  };
  EXPECT_EQ(version(7), "2.20");
  EXPECT_EQ(version(20, 5), "2.20");
  EXPECT_EQ(version(24), "2.20");  // as near to 2.28
  EXPECT_EQ(version(25), "2.28");
  EXPECT_EQ(version(29, 2), "2.28");  // as near to 2.30
  EXPECT_EQ(version(35), "2.30");
  EXPECT_EQ(&nccl_tables(Bundle(), LibraryVersion{2, 30}), &nccl_tables(Bundle()));
}

// Looked up in tuning.cc of v2.20.3-1.
TEST(NcclTables, OlderVersionsHaveTheirOwnNumbers) {
  const NcclTables& t = nccl_tables(Bundle(), LibraryVersion{2, 20});
  const auto row = [](CollectiveAlgorithm a) { return static_cast<std::size_t>(a); };
  EXPECT_EQ(t.nvlink[row(CollectiveAlgorithm::kNvls)][2], 23);
  EXPECT_EQ(t.network[row(CollectiveAlgorithm::kTree)][2], 28);
  EXPECT_EQ(t.ll_one_node[2], 87.7);
  EXPECT_EQ(t.ring_ll_share[0], 0.25);
}

TEST(NcclTables, FaultsAreLocated) {
  const std::string text = bundled_text();
  EXPECT_EQ(error_of(text), "");
  const std::string row = error_of(replaced(text, "[5.0, 8.5, 14]", "[5.0, 8.5]"));
  EXPECT_NE(row.find("network_latency.tree: expected a list of 3 numbers"), std::string::npos)
      << row;
  EXPECT_TRUE(row.starts_with("nccl.yaml:")) << row;
  const std::string name = error_of(replaced(text, "  pat: [8.0", "  tat: [8.0"));
  EXPECT_NE(name.find("did you mean 'pat'"), std::string::npos) << name;
  const std::string missing = error_of(replaced(text, "nic_share: 0.96", ""));
  EXPECT_NE(missing.find("nic_share"), std::string::npos) << missing;
  EXPECT_NE(error_of(replaced(text, "36.7", "-1")).find("0 to 1e6"), std::string::npos);
}

}  // namespace nccl_tables_test
}  // namespace orrery
