#include "orrery/accelerator/cost/sparse_cost.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

double energy_of(const SparseAccesses& words, double block, double factor,
                 const SparseEnergy& energy) {
  return (std::ceil(words.random / block) * energy.random +
          std::ceil(words.gated / block) * energy.gated +
          std::ceil(words.skipped / block) * energy.skipped) *
         factor;
}

double tensor_energy(const StorageLevel& level, const MetadataStorage& metadata,
                     const MemoryEnergies& energy, const SparseTensorCounts& s) {
  double sum = energy_of(s.reads, level.block, s.blocking, energy.read) +
               energy_of(s.fills, level.block, s.blocking, energy.fill) +
               energy_of(s.updates, level.block, s.blocking, energy.update) +
               s.decompressions * energy.decompression + s.compressions * energy.compression;
  if (metadata.width > 0) {
    sum += energy_of(s.metadata_reads, metadata.width, 1, energy.metadata_read) +
           energy_of(s.metadata_fills, metadata.width, 1, energy.metadata_fill) +
           energy_of(s.metadata_updates, metadata.width, 1, energy.metadata_update);
  }
  return sum;
}

}  // namespace

void cost_sparse(const Chip& chip, const SparseDesign& design, const SparseCounts& counts,
                 NestCost& out) {
  cost_nest(chip, counts.occupied, out);
  std::int64_t built = 1;
  out.compute_energy = counts.computes.random * design.compute.random +
                       counts.computes.gated * design.compute.gated +
                       counts.computes.skipped * design.compute.skipped;
  out.energy = out.compute_energy;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    LevelCost& cost = out.levels[l];
    const LevelCounts& c = counts.occupied.levels[l];
    out.energy += cost.leakage + cost.network;
    for (std::size_t t = 0; t < c.tensors.size(); ++t) {
      if (!c.tensors[t].kept) continue;
      const SparseTensorCounts& s = counts.levels[l][t];
      const double clusters = std::min(real(built / chip.levels[l].cluster), c.active * s.held);
      cost.tensor_energy[t] =
          tensor_energy(chip.levels[l], design.metadata[l], design.energies[l], s) * clusters;
      out.energy += cost.tensor_energy[t];
    }
    built *= fan_out(chip.levels[l]);
  }
}

}  // namespace orrery
