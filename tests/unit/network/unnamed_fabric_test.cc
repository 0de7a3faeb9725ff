#include "orrery/network/collectives/unnamed_fabric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace unnamed_fabric_test {

Collective all_reduce(int ranks) {
  return {Collective::Kind::kAllReduce, Collective::Group::kTensor, ranks, Bytes(16 << 10)};
}

std::unique_ptr<NetworkModel> sixteen_h200() {
  const Catalog catalog;
  const ParallelPlan plan{.tp = 16};
  return make_network_model(Cluster(catalog, catalog.gpu("h200-sxm"), 16, ""), plan, "nccl",
                            Bundle());
}

// All-reduces of 16 KiB over two nodes take 51 us on InfiniBand, 94 us on EFA and 139 us on TCPXO
// (data/network): the interval of an unnamed fabric reaches from one to nearly the other.
TEST(UnnamedFabric, TimesBetweenNodesAreAsUncertainAsFabricsDiffer) {
  const CollectiveTime usual = sixteen_h200()->predict(all_reduce(16));
  const CollectiveTime unnamed = on_unnamed_fabric(sixteen_h200())->predict(all_reduce(16));
  EXPECT_EQ(unnamed.time.value, usual.time.value);
  EXPECT_LT(usual.time.quantile(0.95), microseconds(80));
  EXPECT_GT(unnamed.time.quantile(0.95), microseconds(105));
  EXPECT_LT(unnamed.time.quantile(0.95), microseconds(150));
}

TEST(UnnamedFabric, TimesWithinANodeStay) {
  const CollectiveTime usual = sixteen_h200()->predict(all_reduce(8));
  const CollectiveTime unnamed = on_unnamed_fabric(sixteen_h200())->predict(all_reduce(8));
  EXPECT_EQ(unnamed.time.sigma(), usual.time.sigma());
  EXPECT_EQ(unnamed.time.value, usual.time.value);
}

}  // namespace unnamed_fabric_test
}  // namespace orrery
