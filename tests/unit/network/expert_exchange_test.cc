#include "orrery/network/collectives/expert_exchange.h"

#include <gtest/gtest.h>

#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace expert_exchange_test {

GroupLink link(int inner, int nodes) {
  GroupLink l;
  l.bandwidth = BytesPerSecond(50e9);
  l.ranks_per_node = inner;
  l.nodes = nodes;
  return l;
}

// DeepEP's README: 128 tokens of 7168 to 8 experts are 7,585,792 bytes to dispatch and 14,680,064
// to combine (data/network/measured.csv).
TEST(ExpertExchange, LowLatencySendsEveryCopy) {
  ExpertExchange x;
  x.low_latency = true;
  x.tokens = 128;
  EXPECT_EQ(expert_bytes(x, link(8, 4)).counted.value(), 7585792);
  EXPECT_DOUBLE_EQ(expert_bytes(x, link(8, 4)).between.value(), 7585792 * 0.75);
  EXPECT_DOUBLE_EQ(expert_bytes(x, link(8, 4)).inside.value(), 7585792 * 7.0 / 32);
  x.combine = true;
  EXPECT_EQ(expert_bytes(x, link(8, 4)).counted.value(), 14680064);
}

TEST(ExpertExchange, NormalSendsOncePerPlace) {
  EXPECT_DOUBLE_EQ(places_hit(8, 1), 1);
  EXPECT_DOUBLE_EQ(places_hit(4, 2), 1.75);
  EXPECT_NEAR(places_hit(8, 1000), 8, 1e-9);
  ExpertExchange x;
  x.combine = true;
  x.tokens = 1;
  x.hidden = 1000;
  x.top_k = 2;
  EXPECT_DOUBLE_EQ(expert_bytes(x, link(1, 4)).between.value(), 2000 * 1.75 * 0.75);
  // A limit of one node sends no more than to one.
  x.most_nodes = 1;
  EXPECT_DOUBLE_EQ(expert_bytes(x, link(1, 4)).between.value(), 2000 * 0.75);
}

// DeepSeek-V3 picks 4 of 8 groups, 8 experts in them. A node for each group: 4 nodes. Two groups on
// a node: 4 (1 - C(6, 4) / C(8, 4)). Two nodes for a group: 8 picks among the 8 nodes of 4 groups.
TEST(ExpertExchange, GroupsLimitTheNodes) {
  ExpertExchange x;
  x.groups = 8, x.top_groups = 4;
  EXPECT_DOUBLE_EQ(nodes_hit(x, 8), 4);
  EXPECT_DOUBLE_EQ(nodes_hit(x, 4), 4 * (1 - 15.0 / 70));
  EXPECT_DOUBLE_EQ(nodes_hit(x, 16), places_hit(8, 8));
  EXPECT_DOUBLE_EQ(nodes_hit(x, 1), 1);
  x.most_nodes = 3;
  EXPECT_DOUBLE_EQ(nodes_hit(x, 8), 3);
}

TEST(ExpertExchange, LimitsSendNoMoreAndAllNodesAreNoLimit) {
  for (const int nodes : {1, 2, 4, 8, 16, 32}) {
    ExpertExchange x;
    const double free = nodes_hit(x, nodes);
    EXPECT_DOUBLE_EQ(free, places_hit(nodes, x.top_k));
    for (int most = 1; most <= nodes; ++most) {
      x.most_nodes = most;
      EXPECT_LE(nodes_hit(x, nodes), free);
      EXPECT_LE(nodes_hit(x, nodes), most);
    }
    x.most_nodes = nodes;
    EXPECT_DOUBLE_EQ(nodes_hit(x, nodes), free);
    x.most_nodes = 0;
    for (const int groups : {1, 2, 4, 8, 16}) {
      x.groups = groups;
      for (x.top_groups = 1; x.top_groups < groups; ++x.top_groups)
        EXPECT_LE(nodes_hit(x, nodes), free * (1 + 1e-12)) << nodes << " " << groups;
      x.top_groups = groups;
      EXPECT_DOUBLE_EQ(nodes_hit(x, nodes), free);
    }
    x.groups = x.top_groups = 1;
  }
}

TEST(ExpertExchange, WideDispatchIsAsLongAsItsCombine) {
  ExpertExchange x;
  x.narrow = false;
  const double sent = expert_bytes(x, link(8, 4)).between.value();
  x.combine = true;
  EXPECT_DOUBLE_EQ(expert_bytes(x, link(8, 4)).between.value(), sent);
}

// 2 us + 1 us start; 100 MB inside at min(0.5 * 400, 10 * 12) GB/s; none between.
TEST(ExpertExchange, MultiprocessorsLimitNormalKernels) {
  ExpertExchange x;
  x.combine = true;
  x.tokens = 50000;
  x.hidden = 1000;
  x.top_k = 1;
  x.sms = 12;
  ExpertCurve inside;
  inside.start = microseconds(2);
  inside.share = 0.5;
  inside.each_sm = BytesPerSecond(10e9);
  const ExpertTime t = expert_time(x, link(2, 1), inside, BytesPerSecond(400e9), {});
  EXPECT_NEAR(t.inside.value(), 50e6 / 120e9, 1e-12);
  x.sms = 48;
  x.imbalance = 2;
  const ExpertTime wide = expert_time(x, link(2, 1), inside, BytesPerSecond(400e9), {});
  EXPECT_NEAR(wide.total.value(), 2e-6 + 2 * 50e6 / 200e9, 1e-12);
}

// DeepEP's README, low latency on H800: combine over 32 and 64 GPUs 277 and 319 us, dispatch 158
// and 176.
TEST(ExpertExchange, LowLatencyOverInfiniBand) {
  const Catalog catalog;
  const auto us = [&](int gpus, bool combine) {
    ExpertExchange x;
    x.low_latency = true, x.combine = combine, x.tokens = 128;
    const Cluster cluster(catalog, catalog.gpu("h800-sxm"), gpus);
    return make_network_model(cluster, {.tp = gpus}, "nccl", Bundle())
               ->exchange(x, Collective::Group::kTensor, gpus)
               .time.value /
           microseconds(1);
  };
  EXPECT_NEAR(us(32, true), 277, 28);
  EXPECT_NEAR(us(64, true), 319, 32);
  EXPECT_NEAR(us(32, false), 158, 16);
  EXPECT_NEAR(us(64, false), 176, 18);
}

// Four nodes, of which a token goes to 4 (1 - C(6, 4) / C(8, 4)) = 3.14: the busiest node receives
// at most every token, 1.27 times the mean, however skewed the experts are. Low-latency kernels
// send every copy by itself.
TEST(ExpertExchange, NormalKernelsSendANodeAtMostEveryToken) {
  ExpertExchange x;
  x.tokens = 4096;
  x.groups = 8, x.top_groups = 4;
  ExpertCurve curve;
  const auto between = [&](double imbalance) {
    x.imbalance = imbalance;
    return expert_time(x, link(8, 4), curve, BytesPerSecond(400e9), curve).between.value();
  };
  const double even = between(1);
  EXPECT_NEAR(between(1.1) / even, 1.1, 1e-12);
  EXPECT_NEAR(between(6) / even, 4 / (4 * (1 - 15.0 / 70)), 1e-12);
  x.low_latency = true;
  const double every = between(1);
  EXPECT_NEAR(between(6) / every, 6, 1e-12);
}

}  // namespace expert_exchange_test
}  // namespace orrery
