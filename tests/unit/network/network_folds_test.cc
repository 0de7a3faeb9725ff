#include "orrery/network/fit/network_folds.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/collectives/network_constants.h"
#include "orrery/network/collectives/unseen_servers.h"
#include "orrery/network/fit/joined_texts.h"

namespace orrery {
namespace network_folds_test {

using CKind = Collective::Kind;

Estimate<Seconds> time_of(const Bundle& bundle, const char* gpu, CKind kind, int ranks,
                          double bytes, const char* node = "") {
  const Catalog catalog;
  const Gpu g = catalog.gpu(gpu);
  const auto model = make_network_model(Cluster(catalog, g, ranks, node), {.tp = ranks},
                                        collective_library(g), bundle);
  return model->predict({kind, Collective::Group::kTensor, ranks, Bytes(bytes)}).time;
}

TEST(JoinedTexts, AreReadBackAsTheyWereWritten) {
  const std::map<std::string, std::string> texts = {
      {"network/a.yaml", "fabrics: [a]\ncurves: []\n"}, {"network/b.yaml", ""}};
  EXPECT_EQ(split_texts("# A comment.\n" + joined_texts(texts)), texts);
  EXPECT_TRUE(split_texts("").empty());
}

TEST(NetworkFolds, AnEmptyTextRemovesTheFile) {
  const Bundle bundle =
      with_network_files(Bundle(), {{"network/pcie5.yaml", ""}, {"network/x.yaml", "a: 1\n"}});
  EXPECT_FALSE(bundle.find("network/pcie5.yaml"));
  EXPECT_EQ(bundle.find("network/x.yaml")->content, "a: 1\n");
  EXPECT_TRUE(bundle.find("network/nvlink4-nvswitch.yaml"));
  EXPECT_TRUE(bundle.find("network/nccl-2.30.yaml"));
}

TEST(NetworkFolds, GroupsThatNoFitSawHaveNone) {
  EXPECT_FALSE(bundle_without(Bundle(), {"nvlink4-nvswitch", "h20", "nccl"}));
  EXPECT_TRUE(bundle_without(Bundle(), {"nvlink4-nvswitch", "h200-sxm", "nccl"}));
}

// No file of a fold was fitted to the group that it leaves out.
TEST(NetworkFolds, CatalogsFoldsAreOfOtherGroups) {
  const Bundle bundle;
  std::size_t folds = 0;
  for (const std::string& path : bundle.list("network/folds", ".txt")) {
    const auto texts = split_texts(bundle.find(path)->content);
    const std::string name = path.substr(14, path.size() - 14 - 4);  // fabric_gpu_library
    const std::string fabric = name.substr(0, name.find('_'));
    const std::string gpu = name.substr(fabric.size() + 1, name.rfind('_') - fabric.size() - 1);
    ASSERT_TRUE(texts.contains(kUnseenServersPath)) << path;
    ++folds;
    if (name.ends_with("deepep")) continue;
    const auto own = texts.find("network/" + fabric + ".yaml");
    ASSERT_NE(own, texts.end()) << path;
    if (own->second.empty()) continue;
    const FabricConstants c = read_network_constants(parse_yaml(own->second, path));
    EXPECT_FALSE(c.was_measured_on(gpu)) << path;
  }
  EXPECT_GE(folds, 25u);
}

// Without the L40S, the PCIe server of H100 stands for its own; without the MI300X, NVLink 3 does.
TEST(NetworkFolds, AFabricWithoutRowsTakesAnothersConstants) {
  for (const auto& [fabric, gpu, library] : {NetworkGroup{"pcie4-shared", "l40s", "nccl"},
                                             NetworkGroup{"xgmi-mi300x", "mi300x", "rccl"}}) {
    const char* node = gpu == "l40s" ? "pcie4-8x-shared" : "";
    const auto without = bundle_without(Bundle(), {fabric, gpu, library});
    ASSERT_TRUE(without);
    const auto own = time_of(Bundle(), gpu.c_str(), CKind::kAllReduce, 4, 64 << 20, node);
    const auto other = time_of(*without, gpu.c_str(), CKind::kAllReduce, 4, 64 << 20, node);
    EXPECT_EQ(own.origin, Origin::kMeasured);
    EXPECT_EQ(other.origin, Origin::kTransferred);
    EXPECT_GT(other.sigma(), 2 * own.sigma());
  }
}

// H20 has the switches of H100, but nobody measured it: its interval is that of GPUs left out.
TEST(UnseenServers, WidenTheIntervalOfGpusThatWereNotMeasured) {
  const auto seen = time_of(Bundle(), "h100-sxm", CKind::kAllReduce, 8, 8 << 20);
  const auto unseen = time_of(Bundle(), "h20", CKind::kAllReduce, 8, 8 << 20);
  EXPECT_EQ(unseen.origin, Origin::kMeasured);
  EXPECT_NEAR(unseen.sigma(), std::hypot(read_unseen_servers(Bundle()).same_fabric[1], 0.03), 1e-6);
  EXPECT_GT(unseen.sigma(), 1.5 * seen.sigma());
}

TEST(UnseenServers, AreReadBackAndChecked) {
  const UnseenServers e{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}, microseconds(7.5)};
  const auto bundle = [](const std::string& text) {
    return with_network_files(Bundle(), {{kUnseenServersPath, text}});
  };
  const UnseenServers again = read_unseen_servers(bundle(to_yaml(e, {6, 2})));
  EXPECT_EQ(again.same_fabric, e.same_fabric);
  EXPECT_EQ(again.other_fabric, e.other_fabric);
  EXPECT_DOUBLE_EQ(again.send_start / microseconds(1), 7.5);
  EXPECT_EQ(read_unseen_servers(bundle(to_yaml({}, {6, 2}))).send_start, Seconds(0));
  EXPECT_THROW(
      read_unseen_servers(bundle("recipe: r\nsame_fabric: [1]\nother_fabric: [1, 1, 1]\n")),
      InputError);
  EXPECT_EQ(read_unseen_servers(Bundle().replacing("network", {})).other_fabric[0], 0);
}

// No send between two A100 was measured. The send of H100 with the bandwidth of NVLink 3 carries
// 200 to 240 GB/s of a message of 64 MiB, as such servers do.
TEST(NetworkModel, SendsOnASwitchWithoutMeasuredSends) {
  const auto t = time_of(Bundle(), "a100-80g-sxm", CKind::kSend, 2, 64 << 20);
  const double rate = (64 << 20) / t.value.value() / 1e9;
  EXPECT_GT(rate, 200);
  EXPECT_LT(rate, 240);
  EXPECT_EQ(t.origin, Origin::kTransferred);
}

// The rings of the A100 table start 4 us later than those of H100. Their host has a part in that,
// and cards with a bridge have another host: they start as the measured sends do.
TEST(NetworkModel, SendsOverABridgeStartAsTheMeasuredOnes) {
  const char* node = "a100-pcie-nvlink-8x";
  const auto sent = [&](double bytes) {
    return time_of(Bundle(), "a100-80g-pcie", CKind::kSend, 2, bytes, node);
  };
  const Seconds start = read_unseen_servers(Bundle()).send_start;
  EXPECT_NEAR(sent(1).value / start, 1, 1e-3);
  EXPECT_GT(time_of(Bundle(), "a100-80g-sxm", CKind::kSend, 2, 1).value, 1.3 * start);
  EXPECT_EQ(sent(1).origin, Origin::kTransferred);
  Seconds last;
  for (double bytes = 1; bytes < 1e10; bytes *= 4) {
    EXPECT_GT(sent(bytes).value, last);
    EXPECT_GT(sent(bytes).value, Seconds(bytes / 300e9));  // the bridge's 300 GB/s each way
    last = sent(bytes).value;
  }
}

// H100's are the only sends that a fit sees. Without them no start of sends is known, and it is
// known without any other GPU.
TEST(UnseenServers, HaveTheStartOfSendsOfOtherFabricsOnly) {
  const auto start = [](const NetworkGroup& group) {
    const auto without = bundle_without(Bundle(), group);
    return without ? read_unseen_servers(*without).send_start : Seconds(-1);
  };
  EXPECT_EQ(start({"nvlink4-nvswitch", "h100-sxm", "nccl"}), Seconds(0));
  EXPECT_EQ(start({"nvlink3-nvswitch", "a100-80g-sxm", "nccl"}),
            read_unseen_servers(Bundle()).send_start);
}

// Two nodes with four 100G ports, 50 GB/s in all. A tree passes them once: 0.96 * 0.92 of that. A
// ring of 16 ranks passes them 1.875 times. Three nodes get no more from a tree than from a ring.
TEST(NetworkModel, TreesOverTwoNodesPassThePortsOnce) {
  const Catalog catalog;
  const auto rate = [&](int ranks, CollectiveAlgorithm algorithm) {
    const Cluster cluster(catalog, catalog.gpu("a100-80g-sxm"), ranks, "aws-p4d");
    const auto model = make_network_model(cluster, {.tp = ranks}, "nccl", Bundle());
    const Collective c{CKind::kAllReduce, Collective::Group::kTensor, ranks, Bytes(1e10)};
    return 10 / model->predict(c, {algorithm, {}}).time.value.value();
  };
  EXPECT_NEAR(rate(16, CollectiveAlgorithm::kTree), 42.5, 2.5);
  EXPECT_NEAR(rate(16, CollectiveAlgorithm::kRing), 25, 2);
  EXPECT_LT(rate(24, CollectiveAlgorithm::kTree), 25);
}

}  // namespace network_folds_test
}  // namespace orrery
