// Energies of components against the tables that they come from.
#include "orrery/accelerator/architecture/component_library.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

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

TEST(ComponentLibrary, UnknownPartsAreNoData) {
  EXPECT_THROW(library().dram("HBM9", 64), NoData);
  EXPECT_THROW(library().multiply_add("fp8", 7), NoData);
  EXPECT_THROW(library().multiply_add("int8", 3), NoData);
  EXPECT_THROW(library().sram(1024, 64, 200), NoData);
}

}  // namespace
}  // namespace orrery
