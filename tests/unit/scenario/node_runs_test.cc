// Groups of nodes that differ, from the scenario to the answer.
#include "orrery/scenario/kinds/collective/node_runs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace node_runs_test {

using testing::HasSubstr;

std::vector<Point> run(const std::string& yaml) {
  Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "s.yaml"))).points;
}
double us(const std::string& yaml) { return run(yaml).at(0).find("time")->value; }

std::string refusal(const std::string& yaml) {
  return refusal_of([&] { run(yaml); });
}

TEST(NodeRuns, Spellings) {
  const Catalog catalog;
  for (const char* text :
       {"3 hgx-h100", "3x hgx-h100", "3xhgx-h100", "3*hgx-h100", "3  hgx-h100"}) {
    const auto runs = node_runs({text, "hgx-a100"}, catalog);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].count, 3) << text;
    EXPECT_EQ(runs[1].count, 1) << text;
    EXPECT_EQ(gpus_of(runs), 32);
    EXPECT_EQ(to_text(runs), "3 hgx-h100 + 1 hgx-a100");
  }
  for (const char* text : {"", "3", "3 x", "0 hgx-h100", "-1 hgx-h100", "99999999999 hgx-h100",
                           "3 hgx-h1000", "100001 hgx-h100"}) {
    EXPECT_THROW(node_runs({text}, catalog), InputError) << text;
  }
  EXPECT_EQ(to_text(node_runs({"8 hgx-h100,4x hgx-a100"}, catalog)), "8 hgx-h100 + 4 hgx-a100");
  EXPECT_THROW(node_runs({"8 hgx-h100,"}, catalog), InputError);
  EXPECT_EQ(kinds_of(node_runs({"2 hgx-h100", "hgx-a100", "hgx-h100"}, catalog)).size(), 2u);
}

TEST(NodeRuns, TheSlowerNodesDecide) {
  for (const char* fidelity : {"analytical", "flow"}) {
    const std::string how = fmt::format("bytes: 1 GiB, fidelity: {}", fidelity);
    const double h100 = us("hardware: {node: hgx-h100}\ncollective: {gpus: 32, " + how + "}\n");
    const double a100 = us("hardware: {node: hgx-a100}\ncollective: {gpus: 32, " + how + "}\n");
    EXPECT_DOUBLE_EQ(us("collective: {nodes: [3 hgx-h100, hgx-h100], " + how + "}\n"), h100);
    const double both = us("collective: {nodes: [3 hgx-h100, 1 hgx-a100], " + how + "}\n");
    EXPECT_GT(both, h100) << fidelity;
    EXPECT_GE(both, a100 * (fidelity == std::string("flow") ? 0.5 : 1.0)) << fidelity;
  }
  const Point p = run("collective: {nodes: [8 hgx-h100, 4 hgx-a100]}\n").at(0);
  EXPECT_EQ(p.at["gpus"], 96);
  EXPECT_EQ(p.at["node"], "8 hgx-h100 + 4 hgx-a100");
  EXPECT_EQ(p.at["gpu"], "h100-sxm + a100-80g-sxm");
  // A100's 108 multiprocessors lose the most of their own to 24 channels.
  EXPECT_NEAR(p.find("compute_slowdown")->value, 108.0 / 84, 1e-9);
}

TEST(NodeRuns, NodesOfOtherSizes) {
  // 8 GPUs of a board, 4 of a server with one port each.
  EXPECT_GT(us("collective: {nodes: [2 hgx-h100, 1 aws-p4d], bytes: 64 MiB}\n"), 0);
  EXPECT_GT(us("collective: {nodes: [1 hgx-h100, 1 gb200-nvl72], bytes: 64 MiB}\n"), 0);
  EXPECT_THAT(
      refusal("collective: {nodes: [1 hgx-h100, 1 gb200-nvl72], algorithm: hierarchical}\n"),
      HasSubstr("needs nodes of as many GPUs each"));
}

TEST(NodeRuns, Refuses) {
  EXPECT_THAT(refusal("hardware: {gpu: h100-sxm}\ncollective: {nodes: [2 hgx-h100]}\n"),
              HasSubstr("remove hardware, topology or gpus"));
  EXPECT_THAT(refusal("collective: {nodes: [2 hgx-h100], gpus: 8}\n"),
              HasSubstr("remove hardware, topology or gpus"));
  EXPECT_THAT(refusal("collective: {nodes: [2 hgx-h100], stride: 8}\n"), HasSubstr("stride"));
  EXPECT_THAT(refusal("collective: {nodes: [2 hgx-h100, 2 mi300x-8x]}\n"),
              HasSubstr("do not talk to each other"));
  EXPECT_THAT(refusal("collective: {nodes: [2 hgx-h1000]}\n"), HasSubstr("hgx-h1000"));
}

}  // namespace node_runs_test
}  // namespace orrery
