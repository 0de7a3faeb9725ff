#include "orrery/accelerator/cost/nest_cost.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

double blocks(double words, int block) { return std::ceil(words / block); }

// The share of `demand` words a cycle that a bandwidth serves.
double served(const std::optional<double>& bandwidth, double demand) {
  return bandwidth && demand > *bandwidth ? *bandwidth / demand : 1;
}

double network_energy(const StorageLevel& level, const TensorCounts& t) {
  double energy = 0;
  for (const Delivery& d : t.deliveries) {
    const double hops = d.hops / real(d.scatter);
    energy += d.accesses * (hops * level.hop_energy + (1 + std::floor(hops)) * level.router_energy);
  }
  return energy + t.link_transfers * (level.hop_energy + 2 * level.router_energy);
}

}  // namespace

void cost_nest(const Chip& chip, const NestCounts& counts, NestCost& out) {
  out.levels.resize(chip.levels.size());
  std::int64_t built = 1;  // instances of the level
  double slowest = 1;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const StorageLevel& level = chip.levels[l];
    const LevelCounts& c = counts.levels[l];
    LevelCost& cost = out.levels[l];
    cost.tensor_energy.assign(c.tensors.size(), 0);
    cost.network = 0;
    double reads = 0, writes = 0;
    // Accesses of a cluster cost as much as those of one instance of it.
    const double clusters = std::min(real(built / level.cluster), c.active);
    for (std::size_t t = 0; t < c.tensors.size(); ++t) {
      const TensorCounts& n = c.tensors[t];
      cost.network += network_energy(level, n) * c.active;
      if (!n.kept) continue;
      reads += n.reads;
      writes += n.fills + n.updates;
      cost.tensor_energy[t] = (blocks(n.reads, level.block) * level.energy.read +
                               blocks(n.fills, level.block) * level.energy.write +
                               blocks(n.updates, level.block) * level.energy.update) *
                              clusters;
    }
    cost.slowdown = std::min({1.0, served(level.read_bandwidth, reads / counts.steps),
                              served(level.write_bandwidth, writes / counts.steps),
                              served(level.shared_bandwidth, (reads + writes) / counts.steps)});
    cost.cycles = std::ceil(counts.steps / cost.slowdown);
    built *= fan_out(level);
    slowest = std::min(slowest, cost.slowdown);
  }
  out.cycles = std::ceil(counts.steps / slowest);
  out.compute_energy = counts.steps * counts.active_units * chip.compute.energy;
  out.compute_leakage = chip.compute.leak * out.cycles * counts.active_units;
  out.energy = out.compute_energy;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    LevelCost& cost = out.levels[l];
    cost.leakage = chip.levels[l].energy.leak * out.cycles * counts.levels[l].active;
    out.energy += cost.leakage + cost.network;
    for (const double energy : cost.tensor_energy) out.energy += energy;
  }
}

}  // namespace orrery
