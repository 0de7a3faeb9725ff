#include "orrery/network/fit/measured_place.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace measured_place_test {

GroupLink link(const char* gpu, int ranks, int nodes, const char* fabric) {
  static std::optional<Cluster> place;  // the link points into it
  place.emplace(*measured_place(Catalog(), gpu, ranks, nodes, fabric));
  return place->link(ranks);
}

TEST(MeasuredPlace, PortsOfANode) {
  const GroupLink ib = link("H100_SXM", 64, 8, "IB_NDR_8x400G");
  EXPECT_EQ(ib.fabric->id, "ib-ndr");
  EXPECT_EQ(ib.ranks_per_node, 8);
  EXPECT_EQ(ib.nodes, 8);
  EXPECT_DOUBLE_EQ(ib.bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(link("H100_SXM", 16, 2, "EFA_32x100G").bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(link("A100_SXM", 16, 2, "RoCE_16x100G").bandwidth.value(), 25e9);
  EXPECT_EQ(link("B200_SXM", 16, 2, "gIB_8x400G").fabric->id, "roce-gib-400");
  EXPECT_EQ(fabric_spelling("RoCE_8x400G", "gIB"), "gIB_8x400G");
  EXPECT_EQ(fabric_spelling("RoCE_8x400G", "QPS=2"), "RoCE_8x400G");
}

TEST(MeasuredPlace, RacksAndBoards) {
  const GroupLink racks = link("GB200", 1440, 360, "20xNVL72+IB_XDR");
  EXPECT_EQ(racks.nodes, 20);
  EXPECT_EQ(racks.ranks_per_node, 72);
  const GroupLink rack = link("GB200", 72, 18, "NVL72");
  EXPECT_EQ(rack.nodes, 1);
  EXPECT_EQ(rack.fabric->id, "nvlink5-nvl72");
  EXPECT_EQ(link("H200_SXM", 8, 1, "NVSwitch").fabric->id, "nvlink4-nvswitch");
  EXPECT_EQ(link("H100_PCIe_NVLink_pairs", 2, 1, "NVLink_pair+PCIe").fabric->id, "nvlink4-bridge");
}

TEST(MeasuredPlace, WhatCannotBeReadIsRefused) {
  const Catalog catalog;
  EXPECT_FALSE(measured_place(catalog, "A100_SXM", 16, 2, "unspecified"));
  EXPECT_THROW(measured_place(catalog, "H100_SXM", 16, 2, "Myrinet_8x400G"), InputError);
  EXPECT_THROW(measured_place(catalog, "H100_SXM", 16, 2, "IB_fast"), InputError);
  EXPECT_THROW(measured_place(catalog, "H100_SXM", 15, 2, "IB_8x400G"), InputError);
  EXPECT_THROW(measured_place(catalog, "H100_SXM", 16, 1, "NVSwitch"), InputError);
  EXPECT_THROW(measured_place(catalog, "Z9000", 16, 2, "IB_8x400G"), InputError);
}

}  // namespace measured_place_test
}  // namespace orrery
