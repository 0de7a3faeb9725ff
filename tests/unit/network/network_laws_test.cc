// Laws that hold for every node type of the catalog: no message beats its wires, time grows with
// bytes, and with ranks where the algorithm stays.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/nccl_graph.h"
#include "orrery/network/collectives/unseen_servers.h"
#include "orrery/network/fit/network_fit.h"
#include "tests/unit/network/catalog_constants.h"

namespace orrery {
namespace network_laws_test {

using CKind = Collective::Kind;
const std::vector<std::string> kStacks = {"nccl", "vllm", "trtllm", "sglang"};
const std::vector<CKind> kKinds = {CKind::kAllReduce, CKind::kAllGather, CKind::kReduceScatter,
                                   CKind::kAllToAll,  CKind::kBroadcast, CKind::kSend,
                                   CKind::kReduce};

// Any GPU of the catalog that comes in groups, on up to four of its nodes.
struct Place {
  std::string gpu;
  int gpus;
};

std::vector<Place> places() {
  std::vector<Place> all;
  const Catalog catalog;
  for (const std::string& id : catalog.gpu_ids()) {
    const Gpu gpu = catalog.gpu(id);
    const NodeType node = catalog.node_type(gpu.node);
    if (node.gpu_count > 1)
      all.push_back({id, node.network.fabric.empty() ? node.gpu_count : 4 * node.gpu_count});
  }
  return all;
}

double floor_seconds(const Cluster& cluster, const Collective& c) {
  const GroupLink link = cluster.link(c.ranks);
  const double s = c.bytes.value(), n = c.ranks, nodes = link.nodes;
  const double b = link.bandwidth.value();
  if (link.nodes == 1) {
    const double factor = c.kind == CKind::kAllReduce && link.fabric->in_network_reduction
                              ? 1
                              : bus_factor(c.kind, c.ranks);
    return s * factor / b;
  }
  if (c.kind == CKind::kSend) return s / b;
  if (c.kind == CKind::kAllToAll) return s * (nodes - 1) / nodes / b;
  const double share = s / link.ranks_per_node;
  return share * (c.kind == CKind::kAllReduce ? 2 : 1) * (nodes - 1) / nodes / b * (n > 0 ? 1 : 0);
}

RC_GTEST_PROP(NetworkLaw, NeverFasterThanTheWires, ()) {
  static const auto all = places();
  const Place place = *rc::gen::elementOf(all);
  const Catalog catalog;
  const Cluster cluster(catalog, catalog.gpu(place.gpu), place.gpus);
  const auto model =
      make_network_model(cluster, {.tp = place.gpus}, *rc::gen::elementOf(kStacks), Bundle());
  const Collective c{*rc::gen::elementOf(kKinds), Collective::Group::kTensor,
                     *rc::gen::inRange(2, std::min(place.gpus, 512) + 1),
                     Bytes(std::exp2(*rc::gen::inRange(0, 380) / 10.0))};
  const CollectiveTime t = model->predict(c);
  RC_ASSERT(t.time.value.value() >= floor_seconds(cluster, c));
  RC_ASSERT(t.port_time <= t.time.value);
  // The ports carry at least the bytes that must leave a node, and nothing for a group inside one
  // node.
  if (cluster.link(c.ranks).nodes == 1) RC_ASSERT(t.port_time == Seconds(0));
  if (cluster.link(c.ranks).nodes > 1)
    RC_ASSERT(t.port_time.value() >= (1 - 1e-12) * floor_seconds(cluster, c));
  RC_ASSERT(t.time.sigma() > 0 && t.time.sigma() < 1.2);
  RC_ASSERT(!t.algorithm.empty());
  Collective more = c;
  more.bytes *= 1 + *rc::gen::inRange(1, 200) / 100.0;
  RC_ASSERT(model->predict(more).time.value > t.time.value);
}

TEST(NetworkLaw, TimeGrowsWithRanksWhereTheAlgorithmStays) {
  for (const FabricConstants& constants : bundled_network_constants()) {
    for (const FittedCurve& f : constants.curves) {
      for (double bytes = 1; bytes < 1e11; bytes *= 10) {
        double last = 0;
        for (int n = 2; n <= 128; ++n) {
          const double t =
              curve_time(f.curve, f.kind, f.algorithm, n, Bytes(bytes), BytesPerSecond(1e11))
                  .total.value();
          // The stored constants are rounded to four digits.
          EXPECT_GE(t, last * 0.9995)
              << constants.fabrics[0] << ' ' << f.stack << ' ' << to_text(f.algorithm) << ' '
              << to_text(f.kind) << ' ' << bytes << " B, " << n;
          last = t;
        }
      }
    }
  }
}

// Every pair that may be forced, on several nodes: above the bound, growing with bytes.
TEST(NetworkLaw, ForcedPairsObeyTheWires) {
  const Catalog catalog;
  for (const char* gpu : {"a100-80g-sxm", "h100-sxm", "b200-sxm", "mi300x", "l40s"}) {
    for (int gpus : {8, 16, 64}) {
      const Cluster cluster(catalog, catalog.gpu(gpu), gpus);
      const auto model = make_network_model(cluster, {.tp = gpus}, "nccl", Bundle());
      int offered = 0;
      for (CKind kind : {CKind::kAllReduce, CKind::kAllGather, CKind::kReduceScatter}) {
        for (std::size_t a = 0; a < kCollectiveAlgorithms; ++a) {
          for (std::size_t p = 0; p < kCollectiveProtocols; ++p) {
            const ForcedChoice forced{static_cast<CollectiveAlgorithm>(a),
                                      static_cast<CollectiveProtocol>(p)};
            double last = 0;
            for (double bytes = 8; bytes < 1e11; bytes *= 4) {
              const Collective c{kind, Collective::Group::kTensor, gpus, Bytes(bytes)};
              try {
                const double t = model->predict(c, forced).time.value.value();
                EXPECT_GE(t, model->bound(c, forced).value());
                EXPECT_GT(t, last) << gpu << ' ' << gpus << ' ' << bytes;
                last = t;
                ++offered;
              } catch (const InputError&) {
                break;
              }
            }
          }
        }
      }
      EXPECT_GT(offered, 50) << gpu;
    }
  }
}

// A ring's all-reduce is a reduce-scatter and an all-gather: the steps add up, and so do the bytes;
// only the start (6.6, 14 and 8.4 us) is paid once.
TEST(NetworkLaw, AllReduceIsReduceScatterAndAllGather) {
  const Catalog catalog;
  for (int gpus : {4, 8, 16, 64}) {
    const Cluster cluster(catalog, catalog.gpu("h100-sxm"), gpus);
    const NcclGraph g = nccl_graph(nccl_tables(Bundle()), cluster, cluster.link(gpus));
    const double base[] = {6.6e-6, 14e-6, 8.4e-6};
    for (std::size_t p = 0; p < kCollectiveProtocols; ++p) {
      const auto cost = [&](CKind kind) {
        return nccl_cost(g, kind, CollectiveAlgorithm::kRing, static_cast<CollectiveProtocol>(p));
      };
      const NcclCost whole = cost(CKind::kAllReduce), first = cost(CKind::kReduceScatter),
                     second = cost(CKind::kAllGather);
      EXPECT_NEAR((whole.latency.value() - base[p]) * 1e6,
                  (first.latency.value() + second.latency.value() - 2 * base[p]) * 1e6, 1e-6);
      EXPECT_NEAR(1e12 / whole.bandwidth.value(),
                  1e12 / first.bandwidth.value() + 1e12 / second.bandwidth.value(), 1e-6);
    }
    const auto model = make_network_model(cluster, {.tp = gpus}, "nccl", Bundle());
    const ForcedChoice ring{CollectiveAlgorithm::kRing, {}};
    const auto t = [&](CKind kind) {
      return model->predict({kind, Collective::Group::kTensor, gpus, Bytes(1 << 30)}, ring)
          .time.value.value();
    };
    // Within a node the curve of each collective is fitted separately to its measurements.
    EXPECT_NEAR(t(CKind::kAllReduce) / (t(CKind::kReduceScatter) + t(CKind::kAllGather)), 1,
                gpus > 8 ? 0.01 : 0.15)
        << gpus;
  }
}

// A group on two machines that are slow inside (PCIe through the host) is no faster than on one of
// them.
TEST(NetworkLaw, NoGroupIsFasterThanItsPartWithinANode) {
  const Catalog catalog;
  for (const Place& place : places()) {
    const Gpu gpu = catalog.gpu(place.gpu);
    const int inside = catalog.node_type(gpu.node).gpu_count;
    if (place.gpus == inside || inside > 64) continue;
    const Cluster cluster(catalog, gpu, place.gpus);
    const auto model = make_network_model(cluster, {.tp = place.gpus}, "nccl", Bundle());
    for (CKind kind : kKinds) {
      if (kind == CKind::kSend || kind == CKind::kAllToAll) continue;  // less of it stays inside
      for (double bytes : {1e3, 1e6, 1e8, 4e9}) {
        const auto time = [&](int ranks) {
          return model->predict({kind, Collective::Group::kTensor, ranks, Bytes(bytes)}).time.value;
        };
        EXPECT_GE(time(2 * inside), time(inside)) << place.gpu << " " << bytes;
      }
    }
  }
}

TEST(NetworkLaw, SubgroupsAreConsistent) {
  const Catalog catalog;
  const Gpu gpu = catalog.gpu("h100-sxm");
  const Cluster large(catalog, gpu, 64);
  for (int n : {2, 4, 8, 16}) {
    const Cluster alone(catalog, gpu, n);
    const Collective c{CKind::kAllReduce, Collective::Group::kTensor, n, Bytes(1e7)};
    EXPECT_EQ(
        make_network_model(large, {.tp = n, .dp = 64 / n}, "nccl", Bundle())->predict(c).time.value,
        make_network_model(alone, {.tp = n}, "nccl", Bundle())->predict(c).time.value);
  }
}

// Between 64 and 100,000 GPUs trees grow with log2(nodes), and the bandwidth of long messages
// stays.
TEST(NetworkLaw, SaneAtAHundredThousandGpus) {
  const Catalog catalog;
  const auto us = [&](int n, double bytes) {
    const Cluster cluster(catalog, catalog.gpu("h100-sxm"), n);
    return make_network_model(cluster, {.tp = n}, "nccl", Bundle())
               ->predict({CKind::kAllReduce, Collective::Group::kTensor, n, Bytes(bytes)})
               .time.value /
           microseconds(1);
  };
  EXPECT_GT(us(100'000, 1024), 2 * us(64, 1024));
  EXPECT_LT(us(100'000, 1024), 8 * us(64, 1024));
  EXPECT_GT(us(100'000, 1.7e10), us(64, 1.7e10));
  EXPECT_LT(us(100'000, 1.7e10), 1.3 * us(64, 1.7e10));
}

// The fit writes the files of the catalog again, except for rounding on another processor.
TEST(NetworkFit, MakesTheCatalogAgain) {
  const std::filesystem::path data = data_folder();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no measured tables";
  const auto files = fit_network(data, Bundle()).files;
  const std::vector<FabricConstants> stored = bundled_network_constants();
  EXPECT_EQ(files.size(), 45u);
  for (const auto& [name, text] : files) {
    if (name.ends_with(".txt") || name == kUnseenServersPath) continue;  // network_folds_test.cc
    const FabricConstants again = read_network_constants(parse_yaml(text, name));
    const auto same = std::find_if(stored.begin(), stored.end(), [&](const FabricConstants& c) {
      return c.fabrics == again.fabrics;
    });
    ASSERT_NE(same, stored.end()) << name;
    ASSERT_EQ(same->curves.size(), again.curves.size()) << name;
    ASSERT_EQ(same->across.size(), again.across.size()) << name;
    for (std::size_t i = 0; i < again.across.size(); ++i) {
      EXPECT_EQ(same->across[i].gpus, again.across[i].gpus);
      EXPECT_NEAR(same->across[i].curve.start / again.across[i].curve.start, 1, 0.05) << name;
      EXPECT_NEAR(same->across[i].errors.start, again.across[i].errors.start, 0.03) << name;
      EXPECT_NEAR(same->across[i].errors.width, again.across[i].errors.width, 0.03) << name;
      EXPECT_NEAR(same->across[i].elsewhere.start, again.across[i].elsewhere.start, 0.1) << name;
    }
    for (std::size_t i = 0; i < again.curves.size(); ++i) {
      EXPECT_EQ(same->curves[i].rows, again.curves[i].rows) << name;
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(same->curves[i].left_out_error[k], again.curves[i].left_out_error[k], 0.04)
            << name << ' ' << i;
      }
    }
  }
}

// NCCL counts 48 GB/s for a port of 400 Gbit/s. A single rank of a node has two channels with half
// of it.
TEST(NcclGraph, PortsCarryWhatNcclReckons) {
  const Catalog catalog;
  const Cluster cluster(catalog, catalog.gpu("h100-sxm"), 32);
  const NcclGraph nodes = nccl_graph(nccl_tables(Bundle()), cluster, cluster.link(32));
  EXPECT_EQ(nodes.channels, 8);
  EXPECT_NEAR(nodes.inter.value(), 48e9, 0.01 * 48e9);
  const NcclGraph alone = nccl_graph(nccl_tables(Bundle()), cluster, cluster.link(4, 8));
  EXPECT_EQ(alone.channels, 2);
  EXPECT_NEAR(alone.inter.value(), 24e9, 0.01 * 24e9);
}

}  // namespace network_laws_test
}  // namespace orrery
