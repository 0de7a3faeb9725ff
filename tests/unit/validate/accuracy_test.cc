#include "orrery/validate/report/accuracy.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace accuracy_test {

ValidationRow row(const std::string& name, const std::string& system, double measured,
                  double predicted) {
  ValidationRow r;
  r.by = {{"table", "t"}, {"metric", "decode"}, {"system", system}};
  r.row = name;
  r.measured = measured, r.predicted = predicted;
  r.low50 = 0.99 * predicted, r.high50 = 1.01 * predicted;
  r.low90 = 0.9 * predicted, r.high90 = 1.1 * predicted;
  r.origin = Origin::kMeasured;
  return r;
}

const GroupErrors* group(const AccuracyTable& t, const std::string& key, const std::string& value) {
  for (const GroupErrors& g : t.groups) {
    if (g.key == key && g.value == value) return &g;
  }
  return nullptr;
}

TEST(Accuracy, GroupsOfATableWhereTheyDiffer) {
  AccuracyTally tally("inference");
  tally.add(row("t:1", "a", 100, 105));
  tally.add(row("t:2", "a", 100, 95));
  tally.add(row("t:3", "b", 100, 200));
  const AccuracyArea area = tally.area({});
  ASSERT_EQ(area.tables.size(), 1u);
  const AccuracyTable& t = area.tables[0];
  EXPECT_EQ(t.all.n, 3u);
  EXPECT_NEAR(t.all.mape, 110.0 / 3, 1e-9);
  ASSERT_NE(group(t, "system", "a"), nullptr);
  EXPECT_NEAR(group(t, "system", "a")->errors.mape, 5, 1e-9);
  EXPECT_NEAR(group(t, "system", "a")->errors.coverage90, 100, 1e-9);
  EXPECT_NEAR(group(t, "system", "b")->errors.coverage90, 0, 1e-9);
  EXPECT_EQ(group(t, "tier", "measured"), nullptr);  // all rows are of one
}

TEST(Accuracy, FiguresOfEnergyHaveTheirUnits) {
  AccuracyTally tally("energy");
  const std::pair<const char*, const char*> metrics[] = {
      {"clock of steady calls", "MHz"},      {"energy of a token", "J"},
      {"power of long calls", "W"},          {"time of a token", "s"},
      {"time under a cap", "times as long"}, {"wall power", "W"}};
  for (const auto& [metric, unit] : metrics) {
    ValidationRow r = row("t:1", "a", 100, 105);
    r.by["metric"] = metric;
    tally.add(r);
  }
  const AccuracyArea area = tally.area({});
  ASSERT_EQ(area.tables.size(), std::size(metrics));
  for (std::size_t i = 0; i < area.tables.size(); ++i)
    EXPECT_EQ(area.tables[i].unit, metrics[i].second) << metrics[i].first;
}

TEST(Accuracy, TheWorstRowsComeFirstAndOnce) {
  AccuracyTally tally("inference");
  tally.add(row("t:1", "a", 100, 101));
  tally.add(row("t:2", "a", 100, 25));   // four times too small
  tally.add(row("t:3", "a", 100, 300));  // three times too large
  tally.add(row("t:3", "a", 100, 350));  // the same row again, judged otherwise
  tally.add(row("t:4", "a", 100, 150));
  const std::vector<WorstRow> worst = tally.area({}).tables.at(0).worst;
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0].row, "t:2");
  EXPECT_EQ(worst[1].row, "t:3");
  EXPECT_EQ(worst[1].predicted, 350);
  EXPECT_EQ(worst[2].row, "t:4");
}

TEST(Accuracy, PeersAreComparedOnTheirRowsAlone) {
  AccuracyTally tally("inference");
  ValidationRow with = row("t:1", "a", 100, 110);
  with.peers["them"] = 150;
  tally.add(with);
  tally.add(row("t:2", "a", 100, 300));
  const std::vector<PeerErrors> peers = tally.area({}).tables.at(0).peers;
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].who, "them");
  EXPECT_NEAR(peers[0].theirs.mape, 50, 1e-9);
  EXPECT_NEAR(peers[0].ours.mape, 10, 1e-9);
}

TEST(Accuracy, ARowOfAnotherPredictorIsAPeers) {
  AccuracyTally tally("network");  // whose rows are called by their predictor
  ValidationRow ours = row("measured.csv:7 x", "a", 100, 110), theirs = ours;
  ours.by["table"] = "orrery";
  theirs.by["table"] = "alpha-beta";
  theirs.predicted = 50;
  tally.add(ours);
  tally.add(theirs);
  const AccuracyTable t = tally.area({}).tables.at(0);
  EXPECT_EQ(t.table, "measured");
  EXPECT_EQ(t.all.n, 1u);
  ASSERT_EQ(t.peers.size(), 1u);
  EXPECT_EQ(t.peers[0].who, "alpha-beta");
  EXPECT_NEAR(t.peers[0].theirs.mape, 50, 1e-9);
}

TEST(Accuracy, RefusedRowsByReason) {
  AccuracyTally tally("inference");
  const AccuracyArea area = tally.area({{"t:1", "no profile", 1},
                                        {"t:2", "does not fit: 3 GB too much", 1},
                                        {"t:3", "does not fit: 5 GB too much", 4}});
  ASSERT_EQ(area.refused.size(), 2u);
  EXPECT_EQ(area.refused[0].why, "does not fit");
  EXPECT_EQ(area.refused[0].rows, 5u);
  EXPECT_EQ(area.refused[0].first, "t:2");
}

TEST(Accuracy, WorstGroupsAreNamedOnceAndWideEnough) {
  AccuracyTally tally("inference");
  for (int i = 0; i < 4; ++i) {
    ValidationRow r = row("t:" + std::to_string(i), i < 2 ? "good" : "bad", 100, i < 2 ? 100 : 180);
    r.by["engine"] = i < 2 ? "fine" : "poor";  // the same rows as "bad"
    tally.add(r);
  }
  const std::vector<AccuracyArea> areas = {tally.area({})};
  const std::vector<WorstGroup> worst = worst_groups(areas, 2, 10);
  ASSERT_EQ(worst.size(), 3u);  // engine poor, all, engine fine
  EXPECT_EQ(worst[0].group.value, "poor");
  EXPECT_NEAR(worst[0].group.errors.median, 80, 1e-4);
  EXPECT_EQ(worst_groups(areas, 3, 10).size(), 1u);  // all four
  const std::vector<WorstGroup> narrow = least_covered(areas, 2, 10);
  ASSERT_EQ(narrow.size(), 2u);  // poor (0 %) and all (50 %)
  EXPECT_EQ(narrow[0].group.value, "poor");
}

TEST(Accuracy, JsonHasTheAgreedForm) {
  AccuracyTally tally("inference");
  tally.add(row("t:1", "a", 100, 105));
  tally.add(row("t:2", "b", 100, 95));
  const auto j = to_json(std::vector<AccuracyArea>{tally.area({{"t:3", "no", 1}})});
  EXPECT_EQ(j[0]["area"], "inference");
  EXPECT_EQ(j[0]["tables"][0]["n"], 2);
  EXPECT_EQ(j[0]["tables"][0]["groups"].size(), 2u);
  EXPECT_EQ(j[0]["tables"][0]["worst"][0]["measured"], 100);
  EXPECT_EQ(j[0]["refused"][0]["rows"], 1);
}

}  // namespace accuracy_test
}  // namespace orrery
