#include "orrery/hardware/pcie_tree.h"

#include <fmt/format.h>

namespace orrery {

void declare(Fields& f, PcieTree& t) {
  f.add("sockets", t.sockets, "CPUs over which the cards are spread").range(1, 16).required();
  f.add("switch_gpus", t.switch_gpus, "cards below one switch; 1: each has a root port of its own")
      .range(1, kMostPcieCards);
  f.add("uplinks", t.uplinks, "links of a switch to its socket, each as a card's")
      .range(1, kMostPcieCards);
  f.add("socket_bandwidth", t.socket_bandwidth, "between two sockets, each way").range(0, 1e13);
  f.add("memory_bandwidth", t.memory_bandwidth, "of the memory of one socket; absent: no limit")
      .range(1e9, 1e13);
  f.add_enum("cpu", t.cpu, {"other", "intel", "amd"}, "vendor of the CPUs");
  f.add_enum("p2p_level", t.p2p_level, {"default", "loc", "pxb", "sys"},
             "cards that copy directly, as NCCL_P2P_LEVEL: none, below switches, all");
}

void check(const PcieTree& t, int gpu_count, const Node& document) {
  const Node& place = document.at("pcie");
  if (gpu_count > kMostPcieCards)
    place.fail(fmt::format("a described tree has at most {} cards", kMostPcieCards));
  if (gpu_count % t.sockets != 0) place.fail("sockets does not divide gpu_count");
  if (gpu_count / t.sockets % t.switch_gpus != 0)
    place.fail("switch_gpus does not divide the cards of a socket");
  if (t.sockets > 1 && t.socket_bandwidth <= BytesPerSecond(0))
    place.fail("several sockets need socket_bandwidth: the bandwidth between two, each way");
}

}  // namespace orrery
