// Does a bit take the energy of the parts on its way, and are unknown parts named?
#include "orrery/energy/account/link_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace link_energy_test {

using testing::Contains;

// One pair of serialisers and the switch: 8.1 + 16.5 pJ, with errors of 0.4 and 0.55 of them.
TEST(LinkEnergies, AddUpThePartsOfAFabric) {
  const LinkWay way = LinkEnergies(Bundle()).way("nvlink4-nvswitch");
  ASSERT_TRUE(way.bit.has_value());
  EXPECT_NEAR(way.bit->value.value(), 24.6e-12, 1e-18);
  EXPECT_NEAR(way.bit->sigma(), std::hypot(8.1 * 0.4, 16.5 * 0.55) / 24.6, 1e-12);
  EXPECT_EQ(way.bit->origin, Origin::kTransferred);
  EXPECT_TRUE(way.without.empty());
}

TEST(LinkEnergies, NameWhatNobodyStates) {
  const LinkEnergies energies{Bundle()};
  const LinkWay network = energies.way("ib-ndr");
  EXPECT_NEAR(network.bit->value.value(), (43.8 + 9.8) * 1e-12, 1e-18);
  EXPECT_THAT(network.without, Contains("network cards"));
  const LinkWay nothing = energies.way("ici-v4");
  EXPECT_FALSE(nothing.bit.has_value());
}

// Every fabric of the file is one of the catalog, every known part has an error, and every part a
// source.
TEST(LinkEnergies, TheCatalogsPartsHaveSourcesAndFabrics) {
  const Catalog catalog;
  const LinkEnergies energies{Bundle()};
  for (const LinkPart& part : energies.parts()) {
    EXPECT_FALSE(part.source.empty()) << part.name;
    if (part.pj_a_bit) {
      EXPECT_GT(part.error, 0) << part.name;
    }
    for (const std::string& fabric : part.fabrics)
      EXPECT_EQ(catalog.fabric(fabric).id, fabric) << part.name;
  }
}

// An optical link costs more than one across a board, and a longer way more than a part of it.
TEST(LinkEnergies, LongerWaysCostMore) {
  const LinkEnergies energies{Bundle()};
  const auto bit = [&](const char* fabric) { return energies.way(fabric).bit->value; };
  EXPECT_LT(bit("nvlink3-bridge"), bit("nvlink3-nvswitch"));
  EXPECT_LT(bit("nvlink3-bridge"), bit("pcie4"));
  EXPECT_LT(bit("nvlink4-nvswitch"), bit("ib-ndr"));
  EXPECT_LT(bit("ib-ndr"), bit("ib-hdr"));
}

}  // namespace link_energy_test
}  // namespace orrery
