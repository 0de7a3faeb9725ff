#include "orrery/accelerator/chip/chip_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

// Bytes of a partial sum.
constexpr double kPartial = 4;
// Most parts into which k is split.
constexpr std::int64_t kMostSplit = 64;
// Copies of a tile's operands in a local memory: one is multiplied while the next arrives.
constexpr double kBuffers = 2;
// Share of the L2 that a panel of operands may fill.
constexpr double kPanelShare = 0.5;

double ceil_div(double a, double b) { return std::ceil(a / b); }

std::int64_t power_above(std::int64_t n) {
  std::int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

// The sizes of the product and rates of the chip, as doubles in seconds and bytes.
struct Setting {
  const CoreChip& chip;
  const ChipProduct& p;
  double rate = 0;             // multiply-adds of a cell and cycle
  double read = 0, write = 0;  // seconds a byte to and from device memory or the L2 if warm
  double l2_core = 0;          // bytes a second of one core
};

struct Tile {
  double m = 0, n = 0, split = 1;
};

// Cycles of one lane for an m x n x k part of a tile.
double lane_cycles(const SystolicUnit& a, double rate, double m, double n, double k) {
  const double fill = a.rows + a.columns - 2;
  if (a.dataflow == SystolicUnit::Dataflow::kOutputStationary)
    return ceil_div(m, a.rows) * ceil_div(n, a.columns) * k / rate + fill;
  // Weights of the next fold are loaded while the rows of m stream through, a row of cells a cycle.
  return ceil_div(k, a.rows) * ceil_div(n, a.columns) * std::max(m / rate, real(a.rows)) + fill;
}

struct LaneTime {
  double cycles = 0, l1_bytes = 0;
};

// The fastest partition of a core's tile among its lanes, along m, n or both; with weights that
// stay also along k.
LaneTime on_lanes(const Setting& s, const Tile& tile, double k) {
  const CoreChipCore& core = s.chip.core;
  const bool stays = core.array.dataflow == SystolicUnit::Dataflow::kWeightStationary;
  LaneTime best{std::numeric_limits<double>::infinity(), 0};
  for (int along_m = 1; along_m <= core.lanes; along_m *= 2) {
    for (int along_n = 1; along_m * along_n <= core.lanes; along_n *= 2) {
      const int rest = core.lanes / (along_m * along_n);
      if (rest > 1 && !stays) continue;
      const double m = ceil_div(tile.m, along_m), n = ceil_div(tile.n, along_n),
                   depth = ceil_div(k, rest);
      // Operands are written once and read by each lane that needs them.
      LaneTime t{
          lane_cycles(core.array, s.rate, m, n, depth),
          core.lanes * depth * (m * s.p.a + n * s.p.b) + k * (tile.m * s.p.a + tile.n * s.p.b)};
      if (t.cycles < best.cycles || (t.cycles == best.cycles && t.l1_bytes < best.l1_bytes))
        best = t;
    }
  }
  return best;
}

// Bytes read from device memory when waves of `rows` x `columns` results sweep over the product.
double read_bytes(const Setting& s, double rows, double columns) {
  const ChipProduct& p = s.p;
  const double a = real(p.m) * real(p.k) * p.a, b = real(p.k) * real(p.n) * p.b;
  const double l2 = s.chip.l2.value() * kPanelShare;
  if (a + b <= l2) return a + b;
  const double m = real(p.m), n = real(p.n), k = real(p.k);
  // Panels that stay in the L2 while the other operand passes, and waves that keep nothing.
  const double panel_m = std::min(m, std::max(rows, std::floor(l2 / (k * p.a))));
  const double panel_n = std::min(n, std::max(columns, std::floor(l2 / (k * p.b))));
  double best = a * ceil_div(n, columns) + b * ceil_div(m, rows);
  if (panel_m * k * p.a <= l2) best = std::min(best, a + b * ceil_div(m, panel_m));
  if (panel_n * k * p.b <= l2) best = std::min(best, b + a * ceil_div(n, panel_n));
  return best;
}

struct WaveTime {
  double total = 0, arrays = 0, memory = 0;
  double waves = 0, memory_bytes = 0, l2_bytes = 0, l1_bytes = 0;
};

WaveTime in_waves(const Setting& s, const Tile& tile) {
  const CoreChip& chip = s.chip;
  const ChipProduct& p = s.p;
  const double depth = ceil_div(real(p.k), tile.split);
  const double down = ceil_div(real(p.m), tile.m), across = ceil_div(real(p.n), tile.n);
  const double tiles = down * across * tile.split * real(p.batch);
  const double cores = chip.cores, waves = ceil_div(tiles, cores);

  const Tile filled{std::min(tile.m, real(p.m)), std::min(tile.n, real(p.n)), tile.split};
  const LaneTime lanes = on_lanes(s, filled, depth);
  const double clock = chip.clock.value();
  const double arrays = lanes.cycles / clock / chip.core.array.sustained;
  const double l1_rate = chip.core.l1_bandwidth.value();
  const double l1 = l1_rate > 0 ? lanes.l1_bytes / l1_rate : 0;
  const double operands = depth * (filled.m * p.a + filled.n * p.b);
  const double l2 = operands / s.l2_core;

  // A wave covers tiles of one product as near to a square as it can.
  const double together = std::min(cores / tile.split, down * across);
  const double rows = std::clamp(std::sqrt(together * tile.n / tile.m), 1.0, down);
  const double read =
      read_bytes(s, std::max(1.0, std::round(rows)) * tile.m,
                 std::max(1.0, std::floor(together / std::max(1.0, std::round(rows)))) * tile.n) *
      real(p.batch);
  const double results = real(p.m) * real(p.n) * real(p.batch);
  const double partial = tile.split > 1 ? results * kPartial * tile.split : 0;

  WaveTime t;
  t.waves = waves;
  t.memory = read * s.read;
  t.arrays = waves * arrays;
  const double last = tiles - (waves - 1) * cores;  // tiles of the last wave
  // Device memory is shared, so a wave that is not full streams for its share of the time.
  const double shared = t.memory / tiles;
  const double full = std::max({arrays, l1, l2, shared * cores});
  const double end = std::max({arrays, l1, l2, shared * last});
  t.total = waves * chip.wave_start.value() + (waves - 1) * full + end + results * p.c * s.write;
  if (partial > 0) t.total += 2 * partial / chip.l2_bandwidth.value() + chip.wave_start.value();
  t.memory_bytes = read + results * p.c;
  t.l2_bytes = tiles * operands + results * p.c + 2 * partial;
  t.l1_bytes = tiles * lanes.l1_bytes;
  return t;
}

// Powers of two from the edge of an array to the first that covers `size`.
template <class Visit>
void each_size(std::int64_t edge, std::int64_t size, std::int64_t most, Visit visit) {
  std::int64_t last = std::min(most, power_above(size));
  for (std::int64_t s = std::min(power_above(edge), last); s <= last; s *= 2) visit(s);
}

bool fits(const CoreChip& chip, const ChipProduct& p, double m, double n) {
  const double step = chip.core.array.rows;  // of k, at a time
  return m * n * kPartial <= chip.core.accumulators.value() &&
         kBuffers * step * (m * p.a + n * p.b) <= chip.core.l1.value();
}

}  // namespace

double share_in_l2(const CoreChip& chip, double bytes) {
  constexpr double kAll = 0.9, kNothing = 1.25;
  return std::clamp((kNothing - bytes / chip.l2.value()) / (kNothing - kAll), 0.0, 1.0);
}

ChipProductTime product_time(const CoreChip& chip, const ChipProduct& p) {
  const FlopsPerSecond peak = chip.peak(p.arithmetic);
  if (peak <= FlopsPerSecond(0))
    throw NoData(
        fmt::format("the arrays of {} do not multiply {}", chip.id, to_text(p.arithmetic)));
  Setting s{chip, p};
  s.rate = *chip.core.array.rates[index(p.arithmetic)];
  const double m = real(p.m), n = real(p.n), k = real(p.k), batch = real(p.batch);
  const double read = batch * k * (m * p.a + n * p.b), written = batch * m * n * p.c;
  const double memory = 1 / (chip.memory.bandwidth.value() * chip.memory.sustained);
  const double l2 = 1 / chip.l2_bandwidth.value();
  const double cached = p.warm ? share_in_l2(chip, read + written) : 0;
  s.read = s.write = memory + (std::min(l2, memory) - memory) * cached;
  s.l2_core = chip.l2_bandwidth.value() / chip.cores;

  ChipProductTime best;
  best.roofline = std::max(Flops(2 * batch * m * n * k) / peak,
                           Bytes((read + written) * (1 - cached)) / chip.memory.bandwidth);
  WaveTime fastest;
  fastest.total = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kMostTile = 4096;
  each_size(chip.core.array.rows, p.m, kMostTile, [&](std::int64_t tm) {
    each_size(chip.core.array.columns, p.n, kMostTile, [&](std::int64_t tn) {
      if (!fits(chip, p, real(tm), real(tn))) return;
      for (std::int64_t split = 1; split <= std::min(kMostSplit, p.k); split *= 2) {
        const double tiles = ceil_div(m, real(tm)) * ceil_div(n, real(tn)) * batch;
        if (split > 1 && tiles * real(split) > 2 * chip.cores) break;
        const WaveTime t = in_waves(s, {real(tm), real(tn), real(split)});
        if (t.total >= fastest.total) continue;
        fastest = t;
        best.tile_m = tm, best.tile_n = tn, best.split_k = split;
      }
    });
  });
  if (best.tile_m == 0)
    throw NoData(
        fmt::format("no tile of a product fits in the local memory of {} (core.l1 {}, "
                    "core.accumulators {})",
                    chip.id, to_text(chip.core.l1), to_text(chip.core.accumulators)));
  best.time = std::max(chip.kernel_floor + Seconds(fastest.total), best.roofline);
  best.arrays = Seconds(fastest.arrays);
  best.memory = Seconds(fastest.memory + written * s.write);
  best.waves = fastest.waves;
  best.work = {fastest.memory_bytes, fastest.l2_bytes, fastest.l1_bytes, batch * m * n * k, 0};
  return best;
}

}  // namespace orrery
