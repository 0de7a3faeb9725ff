// Energies of components against the tables that they come from.
#include "orrery/accelerator/architecture/component_library.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace component_library_test {

const ComponentLibrary& library() {
  static const ComponentLibrary all{Bundle()};
  return all;
}

TEST(ComponentLibrary, PublishedPointsAreReturned) {
  EXPECT_NEAR(library().sram(8 * 1024, 64, 45).pj, 10, 1e-9);
  EXPECT_NEAR(library().sram(1 << 20, 64, 45).pj, 100, 1e-9);
  EXPECT_NEAR(library().sram(32 * 1024, 32, 7).pj, 8.5 / 2, 1e-9);
  EXPECT_NEAR(library().multiply_add("int8", 45).pj, 0.3, 1e-9);
  EXPECT_NEAR(library().multiply_add("bf16", 7).pj, 0.59, 1e-9);
  EXPECT_NEAR(library().dram("lpddr4", 64).pj, 512, 1e-9);
  EXPECT_NEAR(library().registers(16, 256, 40).pj, 0.144, 1e-9);
  EXPECT_NEAR(*library().registers(16, 256, 40).um2, 256 * 5.98, 1e-9);
}

TEST(ComponentLibrary, EnergyGrowsWithCapacityWidthAndNode) {
  double last = 0;
  for (const double kib : {1, 4, 16, 64, 256, 1024, 4096, 131072}) {
    const double pj = library().sram(kib * 1024, 64, 16).pj;
    EXPECT_GT(pj, last);
    last = pj;
  }
  last = 0;
  for (const double nm : {7, 10, 14, 16, 20, 28, 32, 45, 65, 90, 130}) {
    const double pj = library().multiply_add("fp16", nm).pj;
    EXPECT_GT(pj, last) << nm;
    last = pj;
    EXPECT_GT(library().sram(65536, 128, nm).pj, library().sram(65536, 64, nm).pj);
  }
}

// 3.56 mW at 1.25 GS/s; 531.4 mW at 892 Gb/s; 16.9 TOPS/W with two operations a multiply-add.
TEST(ComponentLibrary, ConvertersNetworksAndNarrowFormatsAreThosePublished) {
  EXPECT_NEAR(library().adc(7, 28).pj, 3.56 / 1.25, 1e-9);
  EXPECT_NEAR(library().adc(9, 28).pj, 4 * 3.56 / 1.25, 1e-9);
  EXPECT_NEAR(library().network("mesh", 64, 45).pj, 64 * 531.4 / 892, 0.05);
  EXPECT_NEAR(library().network("package-link", 8, 16).pj, 8 * 1.17, 1e-9);
  EXPECT_NEAR(library().wire(256, 10, 45).pj, 103.4, 0.05);
  EXPECT_NEAR(library().multiply_add("int4", 7).pj, 2 / 16.9, 1e-4);
  EXPECT_NEAR(library().multiply_add("fp8", 7).pj, 2 / 3.58, 1e-4);
  EXPECT_LT(library().adc(8, 16).pj, library().adc(8, 28).pj);
}

TEST(ComponentLibrary, UnknownPartsAreNoData) {
  EXPECT_THROW(library().dram("HBM9", 64), NoData);
  EXPECT_THROW(library().multiply_add("int3", 7), NoData);
  EXPECT_THROW(library().dram("HBM3", 64), NoData);
  EXPECT_THROW(library().dram("LPDDR5", 64), NoData);
  EXPECT_THROW(library().adc(3, 28), NoData);
  EXPECT_THROW(library().adc(11, 28), NoData);
  EXPECT_THROW(library().network("torus", 64, 16), NoData);
  EXPECT_THROW(library().wire(64, 1, 200), NoData);
  EXPECT_THROW(library().multiply_add("int8", 3), NoData);
  EXPECT_THROW(library().sram(1024, 64, 200), NoData);
}

}  // namespace component_library_test
}  // namespace orrery
