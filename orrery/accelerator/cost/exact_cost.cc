#include "orrery/accelerator/cost/exact_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/accelerator/count/looptree_count.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kPicojoule = 1e-12;

// Words that a memory reads and writes.
struct Words {
  double reads = 0, writes = 0;
  void add(const Moved& m, double words) {
    reads += m.reads * words;
    writes += m.writes() * words;
  }
};

double port_cycles(const StorageLevel& level, const Words& w) {
  const auto over = [](double words, const std::optional<double>& bandwidth) {
    return bandwidth && words > 0 ? words / *bandwidth : 0;
  };
  return std::max({over(w.reads + w.writes, level.shared_bandwidth),
                   over(w.reads, level.read_bandwidth), over(w.writes, level.write_bandwidth)});
}

// Transfers into or out of one memory: what it moves itself, and what the memories outside move.
struct Stage {
  Words below;
  std::vector<Words> above;  // one for each level
};

class Stages {
 public:
  explicit Stages(const Chip& chip) : chip_(chip), stages_(chip.levels.size()) {
    for (Stage& s : stages_) s.above.resize(chip.levels.size());
  }
  void add(const Transfer& t, const Moved& above, const Moved& below, double words_above,
           double words_below) {
    Stage& s = stages_[index(t.to)];
    s.below.add(below, words_below);
    s.above[index(t.from)].add(above, words_above);
  }
  // Cycles of the stages one after another.
  double cycles() const {
    double sum = 0;
    for (std::size_t level = 0; level < stages_.size(); ++level) {
      const Stage& s = stages_[level];
      double longest = port_cycles(chip_.levels[level], s.below);
      for (std::size_t l = 0; l < s.above.size(); ++l) {
        longest = std::max(longest, port_cycles(chip_.levels[l], s.above[l]));
      }
      sum += longest;
    }
    return sum;
  }

 private:
  const Chip& chip_;
  std::vector<Stage> stages_;
};

class StepCost {
 public:
  StepCost(const Chip& chip, const CascadeStep& step, const ExactTraffic& traffic,
           const ExactOptions& options)
      : chip_(chip),
        step_(step),
        traffic_(traffic),
        options_(options),
        busiest_(chip.levels.size()),
        computing_(chip.levels.size()),
        first_(chip),
        last_(chip),
        all_(chip) {
    add_holders();
    add_transfers();
  }
  void time(const ComputeArray& units, ExactCost& out) const;
  void energy(const ComputeArray& units, ExactCost& out) const;

 private:
  double words(int level, int tensor) const {
    if (options_.words_of_memory) return 1;
    const StorageLevel& l = chip_.levels[index(level)];
    return element_bits(l, step_.einsum.tensors[index(tensor)]) / l.word_bits;
  }
  void add_holders() {
    for (const ExactTensorTraffic& h : traffic_.holders) {
      const std::size_t l = static_cast<std::size_t>(h.level);
      busiest_[l].add(h.busiest, words(h.level, h.tensor));
      computing_[l].add(h.computing, words(h.level, h.tensor));
    }
  }
  void add_transfers() {
    for (const Transfer& t : traffic_.transfers) {
      const double above = words(t.from, t.tensor), below = words(t.to, t.tensor);
      first_.add(t, t.first_above, t.first_below, above, below);
      last_.add(t, t.last_above, t.last_below, above, below);
      all_.add(t, t.above, t.below, above, below);
    }
  }

  const Chip& chip_;
  const CascadeStep& step_;
  const ExactTraffic& traffic_;
  const ExactOptions& options_;
  std::vector<Words> busiest_, computing_;
  Stages first_, last_, all_;
};

void StepCost::time(const ComputeArray& units, ExactCost& out) const {
  out.compute_cycles = step_.copy ? 0 : traffic_.steps / units.rate;
  out.fill = first_.cycles();
  out.drain = last_.cycles();
  const bool twice = options_.double_buffered;
  double longest = out.compute_cycles + (twice ? out.fill + out.drain : 0);
  for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
    out.memories[l].port_cycles = port_cycles(chip_.levels[l], busiest_[l]);
    const double cycles =
        twice ? out.memories[l].port_cycles : port_cycles(chip_.levels[l], computing_[l]);
    if (cycles > longest) {
      longest = cycles;
      out.bound = static_cast<int>(l);
    }
  }
  out.transfers = twice ? out.fill + out.drain : std::max(all_.cycles(), out.fill + out.drain);
  if (!twice) longest += out.transfers;
  // Fractions of a cycle that come from rounding are none.
  out.cycles = std::ceil(longest * (1 - 1e-12));
}

void StepCost::energy(const ComputeArray& units, ExactCost& out) const {
  for (const ExactTensorTraffic& h : traffic_.holders) {
    const StorageLevel& level = chip_.levels[index(h.level)];
    const double accesses = words(h.level, h.tensor) / real(level.block) / real(level.cluster);
    out.memories[index(h.level)].energy +=
        (h.all.reads * level.energy.read + h.all.fills * level.energy.write +
         h.all.updates * level.energy.update) *
        accesses * kPicojoule;
  }
  if (!step_.copy) out.compute_energy = traffic_.points * units.energy * kPicojoule;
  const std::vector<std::int64_t> built = instances(chip_);
  const auto leaked = [&](double pj_a_cycle, std::int64_t n) {
    return pj_a_cycle * real(n) * out.cycles * kPicojoule;
  };
  out.compute_leakage = leaked(chip_.compute.leak, built.back());
  for (const SideCompute& s : chip_.beside) {
    out.compute_leakage += leaked(s.units.leak, built[index(s.level)]);
  }
  out.energy = out.compute_energy + out.compute_leakage;
  for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
    out.memories[l].leakage = leaked(chip_.levels[l].energy.leak, built[l]);
    out.energy += out.memories[l].energy + out.memories[l].leakage;
  }
}

double units_of(const ExactOptions& options, const StorageLevel& level, const EinsumTensor& t) {
  return options.words_of_memory ? 1 : element_bits(level, t);
}

int copies(const ExactTensorTraffic& h, const ExactOptions& options) {
  return options.double_buffered && h.changes ? 2 : 1;
}

}  // namespace

void cost_exact(const Chip& chip, const CascadeStep& step, const ComputeArray& units,
                const ExactTraffic& traffic, const ExactOptions& options, ExactCost& out) {
  out = {};
  out.memories.resize(chip.levels.size());
  const StepCost cost(chip, step, traffic, options);
  cost.time(units, out);
  cost.energy(units, out);
}

ExactCascadeCost cost_exact_cascade(const Chip& chip, const Cascade& cascade,
                                    const CascadeMapping& mapping, const ExactOptions& options) {
  ExactCascadeCost total;
  total.traffic.resize(cascade.steps.size());
  total.steps.resize(cascade.steps.size());
  for (std::size_t i = 0; i < cascade.steps.size(); ++i) {
    const StepMapping& step = mapping.steps[i];
    const ComputeArray& units =
        step.beside < 0 ? chip.compute : chip.beside[index(step.beside)].units;
    count_exact_traffic(cascade.steps[i].einsum, chip, step.mapping, step.fused, total.traffic[i]);
    cost_exact(chip, cascade.steps[i], units, total.traffic[i], options, total.steps[i]);
    total.cycles += total.steps[i].cycles;
    total.energy += total.steps[i].energy;
  }
  return total;
}

std::vector<ExactOverflow> exact_overflows(const Chip& chip, const Cascade& cascade,
                                           const ExactCascadeCost& cost,
                                           const ExactOptions& options) {
  std::vector<ExactOverflow> found;
  for (std::size_t s = 0; s < cascade.steps.size(); ++s) {
    std::vector<double> needed(chip.levels.size(), 0);
    for (const ExactTensorTraffic& h : cost.traffic[s].holders) {
      const std::size_t l = static_cast<std::size_t>(h.level);
      const EinsumTensor& t = cascade.steps[s].einsum.tensors[index(h.tensor)];
      needed[l] += h.tile * copies(h, options) * units_of(options, chip.levels[l], t);
    }
    for (std::size_t l = 0; l < chip.levels.size(); ++l) {
      const StorageLevel& level = chip.levels[l];
      if (!level.words) continue;
      const double room = *level.words * (options.words_of_memory ? 1 : level.word_bits);
      if (needed[l] > room) {
        found.push_back({static_cast<int>(s), static_cast<int>(l), needed[l], room});
      }
    }
  }
  return found;
}

std::string to_text(const ExactOverflow& o, const Chip& chip, const Cascade& cascade,
                    const ExactCascadeCost& cost, const ExactOptions& options) {
  const std::size_t s = static_cast<std::size_t>(o.step);
  const StorageLevel& level = chip.levels[index(o.level)];
  std::string tiles;
  for (const ExactTensorTraffic& h : cost.traffic[s].holders) {
    if (h.level != o.level) continue;
    const EinsumTensor& t = cascade.steps[s].einsum.tensors[index(h.tensor)];
    tiles += fmt::format("{}{}{} {:.0f}", tiles.empty() ? "" : ", ",
                         copies(h, options) == 2 ? "twice " : "", t.name,
                         h.tile * units_of(options, level, t));
  }
  const char* unit = options.words_of_memory ? "words" : "bits";
  return fmt::format("{}: {} would hold {:.0f} {} ({}) and has room for {:.0f}; {:.0f} are missing",
                     cascade.steps[s].einsum.name, level.name, o.needed, unit, tiles, o.available,
                     o.needed - o.available);
}

}  // namespace orrery
