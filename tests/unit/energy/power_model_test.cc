// Is the power of a kernel what its constants say, within what the board can draw?
#include "orrery/energy/power/power_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace power_model_test {

Gpu board_of_1000_watts() {
  Gpu gpu;
  gpu.id = "mine";
  gpu.power = Watts(1000);
  return gpu;
}

KernelActivity activity() {
  return KernelActivity(0.5, 0.3,
                        {{"", "", "", {0.1, 0.5, 0.2}, 0.2, 0},
                         {"gemm", "", "", {0.2, 0.6, 0.1}, 0.1, 0},
                         {"gemm", "fp8", "", {0.3, 0.4, 0.1}, 0.1, 0},
                         {"gemm", "fp8", "trtllm", {0.5, 0.4, 0.1}, 0.1, 0}});
}

BoardPower board() { return BoardPowers({{"mine", 0.2}}, 0.98).of(board_of_1000_watts()); }

Op product(Format format) {
  Gemm g;
  g.m = g.n = g.k = 4096;
  g.format = format;
  return g;
}

TEST(Utilisation, IsAtMostOne) {
  const Utilisation u = utilisation(seconds(2), seconds(0.25), seconds(1));
  EXPECT_EQ(u.compute, 1);
  EXPECT_EQ(u.memory, 0.25);
}

TEST(Utilisation, OfRepeatedCallsCountsWhatTheCacheHolds) {
  const auto off_chip = [](double megabytes) {
    return repeated_utilisation(seconds(0.5), seconds(0.8), seconds(1), Bytes(megabytes * 1e6),
                                Bytes(50e6))
        .off_chip;
  };
  EXPECT_EQ(off_chip(40), 0);
  EXPECT_DOUBLE_EQ(off_chip(75), 0.4);
  EXPECT_EQ(off_chip(100), 0.8);
  EXPECT_EQ(utilisation(seconds(0.5), seconds(0.8), seconds(1)).off_chip, 0.8);
}

TEST(KernelActivity, TakesTheNearestConstants) {
  const KernelActivity a = activity();
  const KernelFamily& gemm = gemm_family();
  EXPECT_EQ(a.of(&gemm, product(Format::kFp8), "trtllm").shares.fixed, 0.5);
  EXPECT_EQ(a.of(&gemm, product(Format::kFp8), "vllm").shares.fixed, 0.3);
  EXPECT_EQ(a.of(&gemm, product(Format::kBf16), "trtllm").shares.fixed, 0.2);
  EXPECT_EQ(a.of(&moe_family(), MoeExperts{}, "vllm").shares.fixed, 0.1);
  EXPECT_EQ(a.of(nullptr, product(Format::kBf16), "").shares.fixed, 0.1);
}

TEST(PowerModel, AddsWhatUnitsDrawToTheAwakeBoard) {
  const KernelActivity a = activity();
  const PowerModel model(a, board(), kernels_of("vllm"));
  // 200 W awake; activity 0.2 + 0.6 * sqrt(0.25) + 0.1 * sqrt(0.36) = 0.56 of the other 800 W.
  const KernelTime time{{seconds(1)}, seconds(0.25), seconds(0.36)};
  const Estimate<Watts> power = model.kernel(product(Format::kBf16), time);
  EXPECT_NEAR(power.value.value(), 200 + 0.56 * 800, 1e-9);
  // The family's constants stand in for those of bf16, so that the power is no measured one.
  EXPECT_EQ(power.origin, Origin::kTransferred);
  EXPECT_EQ(model.kernel(product(Format::kFp8), time).origin, Origin::kMeasured);
  EXPECT_GT(power.shared, model.kernel(product(Format::kFp8), time).shared);
}

TEST(PowerModel, HoldsTheLimit) {
  const KernelActivity a = activity();
  const PowerModel model(a, board(), kernels_of("trtllm"));
  const KernelTime full{{seconds(1)}, seconds(1), seconds(1)};
  // The kernel demands all of the 1000 W and more; the board regulates at 98 %.
  const KernelActivity greedy(1, 0.3, {{"", "", "", {0.5, 1, 1}, 0.2, 0}});
  EXPECT_EQ(PowerModel(greedy, board(), {}).kernel(product(Format::kFp8), full).value, Watts(980));
  EXPECT_LE(model.kernel(product(Format::kFp8), full).value, Watts(980));
}

TEST(BoardPowers, TakesOtherBoardsShares) {
  const BoardPowers boards({{"a", 0.1}, {"b", 0.4}}, 1);
  const BoardPower unknown = boards.of(board_of_1000_watts());
  EXPECT_NEAR(unknown.awake.value.value(), 200, 1e-9);  // the geometric mean of 0.1 and 0.4
  EXPECT_EQ(unknown.awake.origin, Origin::kTransferred);
  // log 4 apart: a standard deviation of log(4) / sqrt(2).
  EXPECT_NEAR(unknown.awake.shared, 0.980, 0.001);
  Gpu silent;
  silent.id = "silent";
  EXPECT_THROW(boards.of(silent), NoData);
}

// Every constant of the catalog, on every GPU whose data sheet states a power.
TEST(CatalogPower, StaysBetweenAwakeAndLimitAndGrowsWithUse) {
  const Bundle bundle;
  const Catalog catalog(bundle);
  const KernelActivity a(bundle);
  const BoardPowers boards(bundle);
  std::size_t checked = 0;
  for (const std::string& id : catalog.gpu_ids()) {
    const Gpu gpu = catalog.gpu(id);
    if (!gpu.power) continue;
    const BoardPower board = boards.of(gpu);
    EXPECT_LT(board.awake.value, board.limit) << id;
    const PowerModel model(a, board, {});
    for (const KernelActivity::Entry& entry : a.entries()) {
      Watts last = board.awake.value;
      for (const double used : {0.0, 0.01, 0.1, 0.5, 1.0}) {
        const Watts power = model.during(entry, {used, used}).value;
        EXPECT_GE(power, last) << id << " " << entry.family << " " << entry.kernel_class;
        EXPECT_LE(power, board.limit) << id << " " << entry.family << " " << entry.kernel_class;
        last = power;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000u);
}

}  // namespace power_model_test
}  // namespace orrery
