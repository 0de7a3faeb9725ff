// Bus bandwidths of all-reduces that users published for servers whose PCI Express tree they
// describe. None of them is in a fit; they were read before the model of trees was finished.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace pcie_servers_test {

struct PublishedRow {
  const char* what;
  const char* gpu;
  const char* scale_up;
  const char* bridge;
  int switch_gpus, sockets;
  double socket_bandwidth;  // GB/s
  DirectCopies level;
  CpuVendor cpu;
  int gpus;
  double bytes, busbw;  // GB/s
};

constexpr auto kPci = "pcie4", kPci5 = "pcie5", kNone = "";
constexpr DirectCopies kDefault = DirectCopies::kDefault, kSys = DirectCopies::kEverywhere;
constexpr CpuVendor kAmd = CpuVendor::kAmd, kIntel = CpuVendor::kIntel;
constexpr double kMega = 1 << 20, kGiga = 1 << 30;

// Sources:
//   https://github.com/NVIDIA/nccl-tests/issues/74    A40 in pairs, one socket of EPYC 7302
//   https://github.com/NVIDIA/nccl-tests/issues/178   A100 in pairs, two Xeon; three cards
//   https://github.com/voipmonitor/rtx6kpro, hardware/pcie-bandwidth.md: RTX PRO 6000, two cards
//     below each of four switches; four below each of two; root ports of two EPYC 9005
//   the same, hardware/epyc9124-direct-attach.md: root ports of two EPYC 9124, whose link carried
//     77 GB/s of four transfers; times of 1 KiB to 1 MiB
const std::vector<PublishedRow> kPublished = {
    {"A40 x4", "a40", kPci, "nvlink3-bridge-ga102", 1, 1, 0, kSys, kAmd, 4, 32 * kMega, 36.6},
    {"A100 x3", "a100-80g-pcie", kPci, "nvlink3-bridge", 1, 2, 67, kDefault, kIntel, 3, 8 * kGiga,
     20},
    {"four switches", "rtx-pro-6000-server", kPci5, kNone, 2, 1, 0, kDefault, kAmd, 8, 32 * kMega,
     40.1},
    {"two switches", "rtx-pro-6000-server", kPci5, kNone, 4, 1, 0, kDefault, kAmd, 8, 2 * kGiga,
     41.1},
    {"dual EPYC 9005", "rtx-pro-6000-server", kPci5, kNone, 1, 2, 100, kSys, kAmd, 8, 32 * kMega,
     22.2},
    {"dual EPYC 9005", "rtx-pro-6000-server", kPci5, kNone, 1, 2, 100, kSys, kAmd, 8, 2 * kGiga,
     37.6},
    {"EPYC 9124, 1 KiB", "rtx-pro-6000-server", kPci5, kNone, 1, 2, 77, kSys, kAmd, 8, 1024,
     1.75 * 1024 / 18.0e3},
    {"EPYC 9124, 256 KiB", "rtx-pro-6000-server", kPci5, kNone, 1, 2, 77, kSys, kAmd, 8, kMega / 4,
     1.75 * kMega / 4 / 55.4e3},
    {"EPYC 9124, 1 MiB", "rtx-pro-6000-server", kPci5, kNone, 1, 2, 77, kSys, kAmd, 8, kMega,
     1.75 * kMega / 129.7e3},
};

TEST(PcieServers, PublishedBandwidthsAreInside) {
  const Catalog catalog;
  std::vector<double> errors;
  int inside = 0;
  for (const PublishedRow& r : kPublished) {
    NodeType node = catalog.node_type("pcie5-8x");
    node.scale_up = r.scale_up;
    node.bridge.fabric = r.bridge;
    node.pcie.sockets = r.sockets;
    node.pcie.switch_gpus = r.switch_gpus;
    node.pcie.socket_bandwidth = BytesPerSecond(r.socket_bandwidth * 1e9);
    node.pcie.p2p_level = r.level;
    node.pcie.cpu = r.cpu;
    const auto model = make_network_model(Cluster(catalog, catalog.gpu(r.gpu), r.gpus, node),
                                          {.tp = r.gpus}, "nccl", Bundle());
    const CollectiveTime t = model->predict(
        {Collective::Kind::kAllReduce, Collective::Group::kTensor, r.gpus, Bytes(r.bytes)});
    const double busbw = t.bus_bandwidth.value() / 1e9;
    const double measured = t.time.value.value() * busbw / r.busbw;
    const bool in =
        t.time.quantile(0.05).value() <= measured && measured <= t.time.quantile(0.95).value();
    inside += in ? 1 : 0;
    errors.push_back(std::abs(busbw / r.busbw - 1));
    fmt::print("{:>20} {:6.2f} GB/s published {:6.2f}{}\n", r.what, busbw, r.busbw,
               in ? "" : " out");
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_GE(inside, static_cast<int>(kPublished.size()) - 1);
  EXPECT_LT(errors[errors.size() / 2], 0.15);
}

}  // namespace pcie_servers_test
}  // namespace orrery
