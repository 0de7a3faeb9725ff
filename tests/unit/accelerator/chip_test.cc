// Chips of cores: times worked out by hand, laws, refusals of the reader, the bundled chips.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/accelerator/chip/chip_area.h"
#include "orrery/accelerator/chip/chip_links.h"
#include "orrery/accelerator/chip/chip_products.h"
#include "orrery/accelerator/chip/chip_rows.h"
#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace chip_test {

// One core with one lane of 4 x 4 cells at 1 GHz. A wave starts in 1 us.
CoreChip tiny() {
  CoreChip c;
  c.id = "tiny";
  c.clock = Hertz(1e9);
  c.memory.capacity = Bytes(1e9);
  c.memory.bandwidth = BytesPerSecond(1e9);
  c.memory.sustained = 1;
  c.memory.latency = Seconds(0);
  c.l2 = Bytes(1e6);
  c.l2_bandwidth = BytesPerSecond(1e12);
  c.core.lanes = 1;
  c.core.l1 = c.core.accumulators = Bytes(1e6);
  c.core.array.rows = c.core.array.columns = 4;
  c.core.array.rates[index(Dtype::kBf16)] = 1;
  c.core.vector.width = 4;
  c.core.vector.exponentials = 1;
  c.core.vector.row_registers = 64;
  c.wave_start = Seconds(1e-6);
  return c;
}

ChipProduct product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ChipProduct p;
  p.m = m, p.n = n, p.k = k;
  return p;
}

TEST(ChipProduct, OneTileByHand) {
  CoreChip c = tiny();
  // 1 us to start, 16,000 bytes of operands in 16 us while 1,000 + 6 cycles pass, 32 bytes written.
  EXPECT_NEAR(product_time(c, product(4, 4, 1000)).time.value(), 17.032e-6, 1e-12);
  c.memory.bandwidth = BytesPerSecond(1e15);
  c.l2_bandwidth = BytesPerSecond(1e15);
  EXPECT_NEAR(product_time(c, product(4, 4, 1000)).time.value(), 2.006e-6, 1e-12);
}

TEST(ChipProduct, WeightsThatStayStreamTheRows) {
  CoreChip c = tiny();
  c.memory.bandwidth = c.l2_bandwidth = BytesPerSecond(1e15);
  c.core.array.dataflow = SystolicUnit::Dataflow::kWeightStationary;
  // 250 folds of 4 rows of k: 100 rows of m stream through each, and 6 cycles of fill.
  EXPECT_NEAR(product_time(c, product(100, 4, 1000)).time.value(), 1e-6 + 25.006e-6, 1e-10);
  // One row of m is hidden by the 4 cycles that load the next weights.
  EXPECT_NEAR(product_time(c, product(1, 4, 1000)).time.value(), 1e-6 + 1.006e-6, 1e-10);
}

TEST(ChipProduct, NeverBelowTheRooflineAndNeverSlowerOnABetterChip) {
  const CoreChip a100 = *find_core_chip("a100-like", Bundle());
  CoreChip memory = a100, cores = a100;
  memory.memory.bandwidth *= 2;
  cores.cores *= 2;
  cores.l2_bandwidth *= 2;
  for (const std::int64_t m : {1, 7, 64, 1000, 8192}) {
    for (const std::int64_t n : {16, 100, 4096}) {
      for (const std::int64_t k : {1, 64, 4097, 65536}) {
        const ChipProductTime t = product_time(a100, product(m, n, k));
        EXPECT_GE(t.time, t.roofline) << m << " " << n << " " << k;
        EXPECT_LE(product_time(memory, product(m, n, k)).time, t.time * (1 + 1e-12));
        EXPECT_LE(product_time(cores, product(m, n, k)).time, t.time * 1.02)
            << m << " " << n << " " << k;
      }
    }
  }
}

TEST(ChipProduct, RepeatedOperandsComeFromTheL2) {
  const CoreChip c = tiny();
  ChipProduct p = product(4, 4, 1000);
  p.warm = true;
  // 1 us to start, 1.006 us of arithmetic, 32 bytes through the L2.
  EXPECT_NEAR(product_time(c, p).time.value(), 2.006e-6, 1e-10);
  EXPECT_DOUBLE_EQ(share_in_l2(c, 0.9e6), 1);
  EXPECT_DOUBLE_EQ(share_in_l2(c, 1.25e6), 0);
}

TEST(ChipProduct, RefusesAFormatThatTheArraysDoNotMultiply) {
  ChipProduct p = product(4, 4, 4);
  p.arithmetic = Dtype::kFp8;
  EXPECT_THROW(product_time(tiny(), p), NoData);
}

TEST(ChipRows, PointwiseWorkOverlapsWithItsTraffic) {
  CoreChip c = tiny();
  ChipRows r;
  r.width = 1000;
  EXPECT_NEAR(rows_time(c, r).time.value(), 4e-6, 1e-12);  // 4,000 bytes
  r.operations = 20;
  EXPECT_NEAR(rows_time(c, r).time.value(), 5e-6, 1e-12);  // 20,000 operations, 4 a cycle
}

TEST(ChipRows, AWideSoftmaxReadsItsRowsAgain) {
  CoreChip c = tiny();
  ChipRows narrow{ChipRows::Kind::kSoftmax, 1000, 64, 2, 2, 0, 0, false};
  ChipRows wide{ChipRows::Kind::kSoftmax, 500, 128, 2, 2, 0, 0, false};
  const ChipRowsTime n = rows_time(c, narrow), w = rows_time(c, wide);
  EXPECT_DOUBLE_EQ(n.work.l2, 64000 * 4.0);
  EXPECT_DOUBLE_EQ(w.work.l2, 64000 * 8.0);
  EXPECT_GT(w.time, n.time);
}

TEST(ChipLinks, AnAllReduceOfOneChipIsFree) {
  const CoreChip c = *find_core_chip("a100-like", Bundle());
  EXPECT_EQ(all_reduce_time(c, 1, Bytes(1e9)), Seconds(0));
  // Large messages: 2 (n - 1) / n of the bytes over the sustained bandwidth, and six steps.
  EXPECT_NEAR(all_reduce_time(c, 4, Bytes(1e9)).value(),
              1.5e9 / (300e9 * 0.78) + 6 * 3.4e-6 + 8.4e-6, 1e-9);
  EXPECT_LT(all_reduce_time(c, 4, Bytes(8)).value(), 12e-6);
}

TEST(ChipArea, PinsDoNotShrink) {
  CoreChip c = *find_core_chip("mi210-like", Bundle());
  const ChipArea before = area_of(c);
  EXPECT_NEAR(before.link_phy, 8 * 5.69, 1e-9);
  c.process = "5 nm";
  const ChipArea after = area_of(c);
  EXPECT_LT(after.cores, before.cores);
  EXPECT_LT(after.l2, before.l2);
  EXPECT_DOUBLE_EQ(after.link_phy, before.link_phy);
  EXPECT_DOUBLE_EQ(after.memory_phy, before.memory_phy);
}

TEST(CoreChip, BundledChipsHaveThePeaksOfTheirDataSheets) {
  const Gpu a100 = data_sheet(*find_core_chip("a100-like", Bundle()));
  EXPECT_NEAR(a100.peak(Dtype::kBf16).value(), 312e12, 1e12);
  EXPECT_NEAR(a100.peak(Dtype::kFp32).value(), 19.5e12, 0.1e12);
  const Gpu mi210 = data_sheet(*find_core_chip("mi210-like", Bundle()));
  EXPECT_NEAR(mi210.peak(Dtype::kFp16).value(), 181e12, 1e12);
}

std::string message_of(const std::string& text) {
  try {
    read_core_chip(parse_yaml(text, "mine.yaml"));
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

constexpr const char* kMine = R"(kind: cores
id: mine
clock: 1 GHz
memory: {capacity: 16 GiB, bandwidth: 1 TB/s}
l2: 32 MiB
l2_bandwidth: 4 TB/s
cores: 16
core:
  l1: 1 MiB
  array: {rows: 64, columns: 64, rate: {bf16: 1}}
sources: [a sketch]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(CoreChip, RefusalsNameTheLineAndTheKey) {
  EXPECT_EQ(message_of(kMine), "");
  const std::string no_unit = message_of(replaced(kMine, "1 TB/s", "1000"));
  EXPECT_NE(no_unit.find("mine.yaml:4: memory.bandwidth"), std::string::npos) << no_unit;
  const std::string unknown = message_of(replaced(kMine, "l2_bandwidth", "l2_bandwith"));
  EXPECT_NE(unknown.find("l2_bandwidth"), std::string::npos) << unknown;
  EXPECT_NE(message_of(replaced(kMine, "{bf16: 1}", "{}")).find("core.array.rate"),
            std::string::npos);
  EXPECT_NE(message_of(replaced(kMine, "[a sketch]", "[]")).find("sources"), std::string::npos);
}

}  // namespace chip_test
}  // namespace orrery
