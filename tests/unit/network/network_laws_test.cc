// Laws that hold for every node type of the catalog: no message beats its wires, time grows with
// bytes, and with ranks where the algorithm stays.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "orrery/network/cost.h"
#include "orrery/network/network_constants.h"
#include "orrery/network/network_fit.h"
#include "orrery/network/network_model.h"

namespace orrery {
namespace {

using CKind = Collective::Kind;
const std::vector<std::string> kStacks = {"nccl", "vllm", "trtllm", "sglang"};
const std::vector<CKind> kKinds = {CKind::kAllReduce, CKind::kAllGather, CKind::kReduceScatter,
                                   CKind::kAllToAll,  CKind::kBroadcast, CKind::kSend};

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
  RC_ASSERT(t.time.sigma() > 0 && t.time.sigma() < 1);
  RC_ASSERT(!t.algorithm.empty());
  Collective more = c;
  more.bytes *= 1 + *rc::gen::inRange(1, 200) / 100.0;
  RC_ASSERT(model->predict(more).time.value > t.time.value);
}

TEST(NetworkLaw, TimeGrowsWithRanksWhereTheAlgorithmStays) {
  for (const FabricConstants& constants : load_network_constants(Bundle())) {
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

// The fit makes the catalog's files again (within what another machine's arithmetic may change).
TEST(NetworkFit, MakesTheCatalogAgain) {
  const std::filesystem::path data = std::filesystem::path(ORRERY_SHARED_DIR) / "data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no measured tables";
  const auto files = fit_network(data, Bundle()).files;
  const std::vector<FabricConstants> stored = load_network_constants(Bundle());
  EXPECT_EQ(files.size(), 12u);
  for (const auto& [name, text] : files) {
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
      EXPECT_NEAR(same->across[i].left_out_error, again.across[i].left_out_error, 0.03) << name;
    }
    for (std::size_t i = 0; i < again.curves.size(); ++i) {
      EXPECT_EQ(same->curves[i].rows, again.curves[i].rows) << name;
      EXPECT_NEAR(same->curves[i].left_out_error, again.curves[i].left_out_error, 0.03)
          << name << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace orrery
