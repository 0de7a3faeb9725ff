// The facts themselves: every file reads, agrees with itself and with the others, and known errors
// of spec sheets (sparse peaks, both directions of a link) are not in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"

namespace orrery {
namespace facts_test {

double tera(FlopsPerSecond f) { return f.value() / 1e12; }

std::vector<Gpu> all_gpus() {
  const Catalog c;
  std::vector<Gpu> out;
  for (const std::string& id : c.gpu_ids()) out.push_back(c.gpu(id));
  return out;
}

TEST(Facts, TheCatalogIsAsLargeAsPromised) {
  const Catalog c;
  EXPECT_GE(c.gpu_ids().size(), 84u);
  for (const char* id : {"h100-sxm",
                         "h100-pcie",
                         "h100-nvl",
                         "h200-sxm",
                         "h20",
                         "a100-40g-sxm",
                         "a100-80g-sxm",
                         "a100-40g-pcie",
                         "a100-80g-pcie",
                         "a800-80g-sxm",
                         "b200-sxm",
                         "b300-sxm",
                         "gb200",
                         "gb300",
                         "l4",
                         "l40s",
                         "a10",
                         "a10g",
                         "a30",
                         "a40",
                         "t4",
                         "v100-16g-pcie",
                         "v100-32g-pcie",
                         "v100-16g-sxm",
                         "v100-32g-sxm",
                         "p100-pcie",
                         "p4",
                         "rtx-3090",
                         "rtx-4090",
                         "rtx-5090",
                         "rtx-6000-ada",
                         "rtx-pro-6000",
                         "mi100",
                         "mi210",
                         "mi250",
                         "mi300x",
                         "mi325x",
                         "mi355x",
                         "gaudi2",
                         "gaudi3",
                         "tpu-v4",
                         "tpu-v5e",
                         "tpu-v5p",
                         "tpu-v6e",
                         "max1550",
                         "b60",
                         "mi350x",
                         "vr200",
                         "gb10",
                         "tpu-v7x",
                         "trainium2",
                         "trainium3",
                         "m4",
                         "m4-pro",
                         "m4-max",
                         "m5",
                         "rx-7900-xtx"}) {
    EXPECT_EQ(c.gpu(id).id, id);
  }
}

TEST(Facts, GpuFiguresArePlausible) {
  for (const Gpu& g : all_gpus()) {
    SCOPED_TRACE(g.id);
    EXPECT_FALSE(g.name.empty());
    EXPECT_FALSE(g.memory.kind.empty());
    EXPECT_FALSE(g.aliases.empty());
    const double bandwidth = g.memory.bandwidth.value();
    const double largest = g.memory.kind == "HBM4"             ? 2.3e13
                           : g.memory.kind.starts_with("HBM")  ? 9e12
                           : g.memory.kind.starts_with("GDDR") ? 2e12
                                                               : 9e11;
    EXPECT_GT(bandwidth, 5e10);
    EXPECT_LT(bandwidth, largest);
    // The driver keeps little of the memory back; ECC on GDDR6 takes 1/16.
    EXPECT_GT(g.usable_memory() / g.memory.capacity, 0.90);
    // FLOPs per byte of memory traffic at the fastest 16-bit format. 32-bit for the P4.
    const Dtype d = g.compute_dtype(Dtype::kBf16);
    const double balance = g.peak(d).value() / bandwidth;
    EXPECT_GE(balance, g.supports(Dtype::kTf32) || g.vendor == "google" ? 37 : 12);
    EXPECT_LT(balance, 600);
    if (g.power) {
      EXPECT_GE(g.power->value(), 20);
      EXPECT_LE(g.power->value(), 1500);
      // No card reaches 3.5 TFLOP/s of 16 bits a watt.
      EXPECT_LT(tera(g.peak(d)) / g.power->value(), 3.5);
    } else {
      EXPECT_TRUE(g.vendor == "google" || g.vendor == "sambanova" || g.vendor == "aws" ||
                  g.id == "vr200");
    }
    if (g.peak_clock) {
      EXPECT_LE(g.peak_clock->value(), 1.02 * g.boost_clock->value());
    }
    if (g.l2) {
      EXPECT_LT(g.l2->value(), 0.01 * g.memory.capacity.value());
    }
    EXPECT_EQ(g.vendor == "nvidia", g.sm_version != 0);
  }
}

// Dense FLOPs per SM and clock of 16-bit tensor work with fp32 accumulation, from the architecture
// white papers. A sparse peak would be twice as high.
TEST(Facts, TensorPeaksAreDense) {
  const std::map<int, double> rate = {{70, 1024},  {75, 1024},  {80, 2048}, {86, 1024},
                                      {87, 2048},  {89, 1024},  {90, 4096}, {100, 8192},
                                      {103, 8192}, {120, 1024}, {121, 1024}};
  const std::set<std::string> half_rate = {"a10g", "l40"};  // and GeForce
  int checked = 0;
  for (const Gpu& g : all_gpus()) {
    if (g.sm_version < 70 || !g.peak_clock) continue;
    SCOPED_TRACE(g.id);
    const bool half = half_rate.contains(g.id) || g.name.find("GeForce") != std::string::npos;
    const double expected =
        rate.at(g.sm_version) * (half ? 0.5 : 1) * g.compute_units * g.peak_clock->value();
    EXPECT_NEAR(g.peak(Dtype::kFp16).value() / expected, 1, 0.005);
    ++checked;
  }
  EXPECT_GE(checked, 45);
}

TEST(Facts, NarrowerFormatsAreFasterByPowersOfTwo) {
  for (const Gpu& g : all_gpus()) {
    SCOPED_TRACE(g.id);
    auto ratio = [&g](Dtype a, Dtype b) { return g.peak(a) / g.peak(b); };
    if (g.supports(Dtype::kFp16) && g.supports(Dtype::kBf16)) {
      const bool odd = g.id == "mi100" || g.id == "gaudi3";  // one 16-bit format is slower
      if (!odd) {
        EXPECT_DOUBLE_EQ(ratio(Dtype::kFp16, Dtype::kBf16), 1);
      }
    }
    // Rubin and Trainium3 have more units for narrow formats; Trainium2's fp8 is a little slower.
    const std::set<std::string> other_fp8 = {"gaudi3", "vr200", "trainium2", "trainium3"};
    if (g.supports(Dtype::kFp8) && !other_fp8.contains(g.id)) {
      EXPECT_NEAR(ratio(Dtype::kFp8, Dtype::kBf16), 2, 0.03);
    }
    if (g.supports(Dtype::kTf32) && g.supports(Dtype::kBf16) && g.vendor != "aws") {
      EXPECT_NEAR(ratio(Dtype::kBf16, Dtype::kTf32), 2, 0.03);
    }
    if (g.supports(Dtype::kFp4) && g.sm_version == 120) {
      EXPECT_NEAR(ratio(Dtype::kFp4, Dtype::kFp8), g.id == "rtx-5090" ? 4 : 2, 0.01);
    }
  }
}

// hardware errata of the question suite.
TEST(FactsErrata, A100With40GbHasTheSlowerMemory) {
  const Catalog c;
  EXPECT_DOUBLE_EQ(c.gpu("a100-40g-sxm").memory.bandwidth.value(), 1.555e12);
  EXPECT_DOUBLE_EQ(c.gpu("a100-80g-sxm").memory.bandwidth.value(), 2.039e12);
}

TEST(FactsErrata, L4PeakIsDense) {
  EXPECT_DOUBLE_EQ(tera(Catalog().gpu("l4").peak(Dtype::kFp16)), 121);
}

TEST(FactsErrata, NvlinkCountsOneDirection) {
  const Catalog c;
  EXPECT_DOUBLE_EQ(c.gpu("h100-sxm").scale_up.bandwidth.value(), 450e9);
  EXPECT_DOUBLE_EQ(c.gpu("a100-80g-sxm").scale_up.bandwidth.value(), 300e9);
  EXPECT_DOUBLE_EQ(c.gpu("b200-sxm").scale_up.bandwidth.value(), 900e9);
  EXPECT_DOUBLE_EQ(c.gpu("v100-16g-sxm").scale_up.bandwidth.value(), 150e9);
}

TEST(FactsErrata, H100IsDenseAndHasOneNicPerGpu) {
  const Catalog c;
  EXPECT_NEAR(tera(c.gpu("h100-sxm").peak(Dtype::kBf16)), 989, 0.5);
  const NodeType n = c.node_type("hgx-h100");
  EXPECT_EQ(n.network.ports, n.gpu_count);
  EXPECT_DOUBLE_EQ(c.fabric(n.network.fabric).bandwidth().value(), 400e9 / 8);
}

TEST(Facts, NamesAreUnique) {
  const Catalog c;
  std::map<std::string, std::string> owner;
  auto claim = [&owner](const std::string& name, const std::string& id) {
    const auto [at, fresh] = owner.emplace(canonical_name(name), id);
    EXPECT_TRUE(fresh) << name << " belongs to " << at->second << " and " << id;
  };
  auto check = [&](const auto& ids, const auto& read) {
    owner.clear();
    for (const std::string& id : ids) {
      const auto item = read(id);
      claim(id, id);
      for (const std::string& alias : item.aliases) {
        EXPECT_EQ(alias, canonical_name(alias));
        claim(alias, id);
        // The scan of the text finds the same aliases as the parser.
        EXPECT_EQ(read(alias).id, id);
      }
    }
  };
  check(c.gpu_ids(), [&c](const std::string& name) { return c.gpu(name); });
  check(c.fabric_ids(), [&c](const std::string& name) { return c.fabric(name); });
  check(c.node_type_ids(), [&c](const std::string& name) { return c.node_type(name); });
}

TEST(Facts, EveryGpuHasANodeThatIsBuiltWithIt) {
  const Catalog c;
  for (const Gpu& g : all_gpus()) {
    SCOPED_TRACE(g.id);
    const NodeType n = c.node_type(g.node);
    EXPECT_NE(std::find(n.gpus.begin(), n.gpus.end(), g.id), n.gpus.end()) << n.id;
  }
  for (const std::string& id : c.node_type_ids()) {
    SCOPED_TRACE(id);
    for (const std::string& gpu : c.node_type(id).gpus) {
      EXPECT_EQ(c.gpu(gpu).id, gpu);
      EXPECT_EQ(Cluster(c, c.gpu(gpu), 1, id).nodes(), 1);
    }
  }
}

// A GPU's scale-up bandwidth is that of the fabric of its node, unless PCIe connects the node.
TEST(Facts, LinksOfGpusAndFabricsAgree) {
  const Catalog c;
  for (const Gpu& g : all_gpus()) {
    const Cluster cluster(c, g, 1);
    const Fabric* f = cluster.bridge() ? cluster.bridge() : cluster.scale_up();
    if (!f || f->kind == FabricKind::kBus) continue;
    EXPECT_NEAR(f->bandwidth() / g.scale_up.bandwidth, 1, 1e-9) << g.id << " " << f->id;
  }
}

TEST(Facts, HostLinksFollowPcie) {
  const std::map<std::string, double> x16 = {
      {"pcie3", 15.75e9}, {"pcie4", 31.5e9}, {"pcie5", 63e9}, {"pcie6", 121e9}};
  for (const Gpu& g : all_gpus()) {
    const auto at = x16.find(g.host_link.kind);
    if (at == x16.end()) continue;
    const bool eight_lanes = g.id == "b60" || g.id == "rtx-2000e-ada";
    EXPECT_DOUBLE_EQ(g.host_link.bandwidth->value(), at->second / (eight_lanes ? 2 : 1)) << g.id;
  }
}

TEST(Facts, FabricsArePlausible) {
  const Catalog c;
  EXPECT_GE(c.fabric_ids().size(), 30u);
  for (const std::string& id : c.fabric_ids()) {
    SCOPED_TRACE(id);
    const Fabric f = c.fabric(id);
    EXPECT_GE(f.bandwidth().value(), 10e9);
    EXPECT_LE(f.bandwidth().value(), 1.8e12);
    EXPECT_GE(f.latency.value(), 0.3e-6);
    EXPECT_LE(f.latency.value(), 20e-6);
    if (f.kind == FabricKind::kMesh) {
      EXPECT_DOUBLE_EQ(f.bandwidth(f.max_gpus).value(), f.bandwidth().value());
    }
  }
}

TEST(Facts, NodesFitTheirFabrics) {
  const Catalog c;
  for (const std::string& id : c.node_type_ids()) {
    SCOPED_TRACE(id);
    const NodeType n = c.node_type(id);
    if (n.scale_up.empty()) continue;
    const Fabric f = c.fabric(n.scale_up);
    if (f.max_gpus > 0) {
      EXPECT_LE(n.gpu_count, f.max_gpus);
    }
    EXPECT_NE(f.kind, FabricKind::kNic);
    if (!n.network.fabric.empty()) {
      EXPECT_EQ(c.fabric(n.network.fabric).kind, FabricKind::kNic);
    }
  }
}

}  // namespace facts_test
}  // namespace orrery
