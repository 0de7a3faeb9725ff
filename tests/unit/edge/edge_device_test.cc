// Are the facts of processors those of the cores that a run takes?
#include "orrery/edge/device/edge_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "orrery/base/error.h"
#include "orrery/edge/device/throttling.h"

namespace orrery {
namespace edge_device_test {

constexpr const char* kCores =
    "cores:\n"
    "  - {name: big, isa: armv8.2, flops_per_cycle: 16, dot_product: true}\n"
    "  - {name: little, isa: armv8, flops_per_cycle: 8}\n";
constexpr const char* kDevices =
    "devices:\n"
    "  - id: board\n"
    "    row: 'A board'\n"
    "    clusters:\n"
    "      - {core: big, clock: 2 GHz, cores: 2}\n"
    "      - {core: little, clock: 1 GHz, cores: 4}\n"
    "    gpus:\n"
    "      - {row: Mali, kind: mali, rate: 100 GFLOP/s}\n";

EdgeDevices devices(const std::string& text = kDevices) {
  return EdgeDevices(
      Bundle().replacing("edge", {{"edge/cores.yaml", kCores}, {"edge/devices.yaml", text}}));
}

std::map<std::string, double> named(const EdgeFacts& facts) {
  std::map<std::string, double> out;
  for (const EdgeFact& f : facts.numbers) out[f.name] = f.value;
  return out;
}

TEST(EdgeDevices, CoresAreTakenFromTheAskedSide) {
  const EdgeDevices all = devices();
  const EdgeDevice& board = all.device("board");
  // Two big cores of 32 GFLOP/s and two little ones of 8: 80 over 20.
  auto facts = named(all.facts(board, 4, EdgePlacement::kFast));
  EXPECT_NEAR(facts["rate"], std::log(80.0 / 20), 1e-12);
  EXPECT_NEAR(facts["threads"], std::log(4.0), 1e-12);
  EXPECT_EQ(facts["dot_product"], 1);
  EXPECT_EQ(facts["armv8.2"], 1);
  facts = named(all.facts(board, 4, EdgePlacement::kSlow));
  EXPECT_NEAR(facts["rate"], std::log(32.0 / 20), 1e-12);
  EXPECT_EQ(facts["dot_product"], 0);
  EXPECT_EQ(facts["armv8"], 1);
  EXPECT_EQ(all.facts(board, 4, EdgePlacement::kSlow).design, "little");
  // Sixteen threads are six cores.
  EXPECT_NEAR(named(all.facts(board, 16, EdgePlacement::kFast))["threads"], std::log(6.0), 1e-12);
  EXPECT_NEAR(named(EdgeDevices::facts(board.gpus[0]))["rate"], std::log(0.1), 1e-12);
}

// Unlike cores end together: each does as much of the rows as its rate is of all.
TEST(EdgeDevices, WorkIsSplitByTheRatesOfTheCores) {
  const EdgeDevices all = devices();
  const EdgeDevice& board = all.device("board");
  // Two big cores of 32 GFLOP/s and three little ones of 8.
  const std::vector<EdgeShare> shares = all.split(board, 5, EdgePlacement::kFast);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].core, "big");
  EXPECT_EQ(shares[1].cores, 3);
  EXPECT_NEAR(shares[0].of_work, 64.0 / 88, 1e-12);
  EXPECT_NEAR(shares[1].of_work, 24.0 / 88, 1e-12);
  EXPECT_NEAR(shares[0].of_work / shares[0].rate.value(),
              shares[1].of_work / shares[1].rate.value(), 1e-20);
  EXPECT_EQ(all.split(board, 2, EdgePlacement::kFast).size(), 1u);
  // A further core never takes away from the rate.
  double last = 0;
  for (int threads = 1; threads <= 6; ++threads) {
    const double rate = named(all.facts(board, threads, EdgePlacement::kFast))["rate"];
    EXPECT_TRUE(threads == 1 || rate > last) << threads;
    last = rate;
  }
}

TEST(EdgeThrottlings, DevicesHaveOneSourceEach) {
  const EdgeThrottlings known{Bundle()};
  ASSERT_NE(known.of("raspberry-pi-5"), nullptr);
  EXPECT_NEAR(known.of("raspberry-pi-5")->least, 1500.0 / 2400, 1e-9);
  EXPECT_EQ(known.of("h100-sxm"), nullptr);
  const auto with = [](const std::string& text) {
    return EdgeThrottlings(Bundle().replacing("edge", {{"edge/throttling.yaml", text}}));
  };
  EXPECT_EQ(with("throttling: [{devices: [a, b], least: 0.5, source: x}]\n").of("b")->source, "x");
  EXPECT_THROW(with("throttling: [{devices: [a], least: 1.5, source: x}]\n"), InputError);
  EXPECT_THROW(with("throttling: [{devices: [a], least: 0.5, source: x}, {devices: [a], least: 1, "
                    "source: y}]\n"),
               InputError);
}

TEST(EdgeDevices, WhatIsMissingIsNamed) {
  EXPECT_EQ(devices().of_row("B board"), nullptr);
  EXPECT_THROW(devices().device("bord"), InputError);
  std::string text = kDevices;
  text.replace(text.find("core: big"), 9, "core: bag");
  EXPECT_THROW(devices(text), InputError);
}

TEST(EdgeDevices, TheBundledOnesAreRead) {
  const EdgeDevices all{Bundle()};
  EXPECT_GT(all.all().size(), 90u);
  for (const EdgeDevice& d : all.all()) EXPECT_EQ(all.of_row(d.row), &d) << d.id;
}

}  // namespace edge_device_test
}  // namespace orrery
