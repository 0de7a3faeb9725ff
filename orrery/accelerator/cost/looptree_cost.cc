#include "orrery/accelerator/cost/looptree_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kPico = 1e-12;

// Seconds of `bits` through a port of so many words a cycle.
double port_seconds(const Chip& chip, const StorageLevel& level, std::optional<double> bandwidth,
                    double bits) {
  return bandwidth ? bits / (*bandwidth * level.word_bits * chip.clock_hz) : 0;
}

struct PassedBits {
  double reads = 0, writes = 0, unit_reads = 0, unit_writes = 0;
};

MemoryCost cost_memory(const Chip& chip, const StorageLevel& level, const PassedBits& bits) {
  MemoryCost cost;
  const double access = real(level.word_bits) * real(level.block);
  cost.read_energy = bits.reads / access * level.energy.read * kPico;
  cost.write_energy = bits.writes / access * level.energy.write * kPico;
  cost.seconds = std::max(
      {port_seconds(chip, level, level.shared_bandwidth, bits.unit_reads + bits.unit_writes),
       port_seconds(chip, level, level.read_bandwidth, bits.unit_reads),
       port_seconds(chip, level, level.write_bandwidth, bits.unit_writes)});
  return cost;
}

// Joules that instances leak.
double leaked(const Chip& chip, double pj_a_cycle, std::int64_t instances, double seconds) {
  return pj_a_cycle * kPico * chip.clock_hz * seconds * real(instances);
}

// The steps during which a tensor takes room, and the first that uses it.
struct Lifetime {
  int first_use = 0, begin = 0, end = 0;
};

bool uses(const Einsum& einsum, const std::string& tensor) {
  return std::any_of(einsum.tensors.begin(), einsum.tensors.end(),
                     [&](const EinsumTensor& t) { return t.name == tensor; });
}

Lifetime lifetime(const Cascade& cascade, const std::string& tensor) {
  const int steps = static_cast<int>(cascade.steps.size());
  Lifetime life{steps, steps, -1};
  for (int s = 0; s < steps; ++s) {
    if (!uses(cascade.steps[index(s)].einsum, tensor)) continue;
    life.first_use = std::min(life.first_use, s);
    life.end = s;
  }
  life.begin = life.first_use;
  if (std::find(cascade.persistent.begin(), cascade.persistent.end(), tensor) !=
      cascade.persistent.end()) {
    life.begin = 0;
    life.end = steps - 1;
  }
  return life;
}

// Adds to `bits`, of each level, what the outermost holders of step `owner` keep during step `at`,
// which does not use it.
void add_kept(const Chip& chip, const Cascade& cascade, const LooptreeCounts& counts, int owner,
              int at, std::vector<double>& bits) {
  const Einsum& einsum = cascade.steps[index(owner)].einsum;
  int before = -1;
  for (const HolderCounts& h : counts.holders) {
    const bool outermost = h.tensor != before;
    before = h.tensor;
    const EinsumTensor& t = einsum.tensors[index(h.tensor)];
    const Lifetime life = lifetime(cascade, t.name);
    if (!outermost || owner != life.first_use || at < life.begin || at > life.end) continue;
    if (uses(cascade.steps[index(at)].einsum, t.name)) continue;
    const StorageLevel& level = chip.levels[index(h.level)];
    bits[index(h.level)] += h.tile * element_bits(level, t);
  }
}

void add_axis_overflows(const Chip& chip, const Mapping& mapping, int step,
                        std::vector<Overflow>& found) {
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    for (std::size_t a = 0; a < chip.levels[l].array.size(); ++a) {
      double used = 1;
      for (const MappingNode& n : mapping.nodes) {
        if (n.space() && n.level == static_cast<int>(l) && n.axis == a) used *= real(n.size);
      }
      const double size = real(chip.levels[l].array[a].size);
      if (used > size)
        found.push_back({step, static_cast<int>(l), static_cast<int>(a), used, size});
    }
  }
}

}  // namespace

void cost_looptree(const Chip& chip, const CascadeStep& step, const ComputeArray& units,
                   const LooptreeCounts& counts, LooptreeCost& out) {
  out = {};
  std::vector<PassedBits> bits(chip.levels.size());
  for (const HolderCounts& h : counts.holders) {
    const std::size_t l = static_cast<std::size_t>(h.level);
    const double width = element_bits(chip.levels[l], step.einsum.tensors[index(h.tensor)]);
    bits[l].reads += h.reads * width;
    bits[l].writes += h.writes * width;
    bits[l].unit_reads += h.unit_reads * width;
    bits[l].unit_writes += h.unit_writes * width;
  }
  if (!step.copy) {
    out.compute_seconds = counts.steps / (units.rate * chip.clock_hz);
    out.compute_energy = counts.operations * units.energy * kPico;
  }
  out.seconds = out.compute_seconds;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    out.memories.push_back(cost_memory(chip, chip.levels[l], bits[l]));
    out.seconds = std::max(out.seconds, out.memories.back().seconds);
  }
  const std::vector<std::int64_t> all = instances(chip);
  out.compute_leakage = leaked(chip, chip.compute.leak, all.back(), out.seconds);
  for (const SideCompute& s : chip.beside) {
    out.compute_leakage += leaked(chip, s.units.leak, all[index(s.level)], out.seconds);
  }
  out.energy = out.compute_energy + out.compute_leakage;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    MemoryCost& m = out.memories[l];
    m.leakage = leaked(chip, chip.levels[l].energy.leak, all[l], out.seconds);
    out.energy += m.read_energy + m.write_energy + m.leakage;
  }
}

CascadeCost cost_cascade(const Chip& chip, const Cascade& cascade, const CascadeMapping& mapping) {
  CascadeCost total;
  total.counts.resize(cascade.steps.size());
  total.steps.resize(cascade.steps.size());
  for (std::size_t i = 0; i < cascade.steps.size(); ++i) {
    const StepMapping& step = mapping.steps[i];
    const ComputeArray& units =
        step.beside < 0 ? chip.compute : chip.beside[index(step.beside)].units;
    count_looptree(cascade.steps[i].einsum, chip, step.mapping, step.fused, total.counts[i]);
    cost_looptree(chip, cascade.steps[i], units, total.counts[i], total.steps[i]);
    total.seconds += total.steps[i].seconds;
    total.energy += total.steps[i].energy;
  }
  return total;
}

std::vector<Overflow> overflows(const Chip& chip, const Cascade& cascade,
                                const CascadeMapping& mapping) {
  std::vector<Overflow> found;
  const int steps = static_cast<int>(cascade.steps.size());
  std::vector<LooptreeCounts> counts(cascade.steps.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const StepMapping& step = mapping.steps[i];
    count_looptree(cascade.steps[i].einsum, chip, step.mapping, step.fused, counts[i]);
  }
  for (int at = 0; at < steps; ++at) {
    const std::size_t s = static_cast<std::size_t>(at);
    add_axis_overflows(chip, mapping.steps[s].mapping, at, found);
    std::vector<double> bits(chip.levels.size(), 0);
    for (const HolderCounts& h : counts[s].holders) {
      const StorageLevel& level = chip.levels[index(h.level)];
      bits[index(h.level)] +=
          h.tile * element_bits(level, cascade.steps[s].einsum.tensors[index(h.tensor)]);
    }
    for (int owner = 0; owner < steps; ++owner) {
      if (owner == at) continue;
      add_kept(chip, cascade, counts[index(owner)], owner, at, bits);
    }
    for (std::size_t l = 0; l < chip.levels.size(); ++l) {
      const StorageLevel& level = chip.levels[l];
      if (!level.words) continue;
      const double room = *level.words * level.word_bits;
      if (bits[l] > room) found.push_back({at, static_cast<int>(l), -1, bits[l], room});
    }
  }
  return found;
}

std::string to_text(const Overflow& o, const Chip& chip, const Cascade& cascade) {
  const StorageLevel& level = chip.levels[index(o.level)];
  const std::string& einsum = cascade.steps[index(o.step)].einsum.name;
  if (o.axis >= 0) {
    return fmt::format(
        "{}: loops in space take {:.0f} instances along {} below {}, which has {:.0f}", einsum,
        o.needed, level.array[index(o.axis)].name, level.name, o.available);
  }
  return fmt::format("{}: {} would hold {:.0f} bits and has room for {:.0f}; {:.0f} are missing",
                     einsum, level.name, o.needed, o.available, o.needed - o.available);
}

}  // namespace orrery
