#include "orrery/accelerator/dataflow/directive_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "orrery/accelerator/dataflow/cluster_level.h"
#include "orrery/accelerator/dataflow/level_reuse.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr std::int64_t kBuffers = 2;  // double buffering
// MAESTRO's energies: a bfloat16 multiply-add in nJ (its DSE_cost-database.hpp, which refers to W.
// Dally et al., "Domain-Specific Hardware Accelerators", CACM 63(7), 2020), and accesses in
// multiples of it (BASE_constants.hpp).
constexpr double kMultiplyAddEnergy = 0.00023, kL1Energy = 1.68, kL2Energy = 18.61;

// Figures of a level's tile.
struct LevelCost {
  std::int64_t cycles = 0;
  double units = 0;
  DirectiveCost figures;  // of the outermost level
};

struct Traffic {
  std::int64_t in = 0, out = 0;
  std::int64_t most() const { return std::max(in, out); }
};

class Evaluation {
 public:
  Evaluation(const DirectiveLayer& layer, const DirectiveMachine& machine)
      : machine_(machine),
        convolution_(layer.kind != LayerKind::kProduct),
        tensors_(tensors_of(layer)),
        levels_(cluster_levels(layer, machine.units)),
        known_(levels_.size()) {}

  DirectiveCost run() {
    DirectiveCost cost = of(0, levels_[0].sizes).figures;
    if (!(cost.cycles > 0)) throw InputError("the dataflow computes no output");
    const ClusterLevel& inner = levels_.back();
    for (const auto* tensor : {&tensors_.input, &tensors_.filter, &tensors_.output}) {
      std::int64_t words = kBuffers;
      for (const LayerDim d : *tensor) words *= inner.of(d).all;
      cost.l1_words += real(words);
    }
    return cost;
  }

 private:
  // Sums over the cases of a level.
  struct Sums {
    std::int64_t steps = 0, offchip = 0, peak = 0;
    double bandwidth = 0, units = 0;
  };

  const LevelCost& of(std::size_t index, const DimSizes& sizes) {
    auto& known = known_[index];
    const auto it = known.find(sizes);
    if (it != known.end()) return it->second;
    LevelCost cost = compute(index, sizes);
    return known.emplace(sizes, std::move(cost)).first->second;
  }

  // Elements of a tensor in a tile.
  double elements(const std::vector<LayerDim>& tensor, const DimSizes& sizes, bool output) const {
    double n = 1;
    for (const LayerDim d : tensor) {
      const bool slid = output && convolution_ && slides(d);
      n *= real(slid ? sizes[d] - sizes[sliding_dim(d)] + 1 : sizes[d]);
    }
    return n;
  }

  LevelCost compute(std::size_t index, const DimSizes& sizes) {
    const ClusterLevel& level = levels_[index];
    LevelCost cost;
    Sums sums;
    DirectiveCost& f = cost.figures;
    Traffic first;
    for_each_step(level, sizes, [&](const StepCase& steps) {
      const LevelReuse reuse(level, steps);
      const std::int64_t out = reuse.given(tensors_.output);
      const std::int64_t most = reuse.most_multiply_adds(tensors_.output);
      if (sums.steps == 0) {
        first = {reuse.fetched(tensors_.input) + reuse.fetched(tensors_.filter), out};
      }
      const std::int64_t n = occurrences(steps);
      const double macs = real(n) * real(reuse.all_multiply_adds(tensors_.output));
      f.output.l2_writes += real(n) * real(out);
      f.output.l1_writes += macs;
      f.output.l1_reads += macs;
      if (most <= 0) return;
      const std::int64_t inputs = reuse.fetched(tensors_.input);
      const std::int64_t filters = reuse.fetched(tensors_.filter);
      f.input.l2_reads += real(n) * real(inputs);
      f.filter.l2_reads += real(n) * real(filters);
      f.multiply_adds += macs;
      const Traffic moved{inputs + filters, out};
      f.arithmetic_intensity = macs / real(n) / real(moved.in);
      const auto [compute, units] = below(index, reuse, steps, most);
      account(index, moved, first, {n, compute}, all_first(steps), cost, sums);
      sums.units += units * real(n);
    });
    cost.units = sums.units / real(std::max<std::int64_t>(sums.steps, 1));
    finish(sizes, first, sums, cost);
    return cost;
  }

  static bool all_first(const StepCase& steps) {
    return std::all_of(steps.begin(), steps.end(),
                       [](const MapStep& s) { return s.at == MapStep::At::kFirst; });
  }

  // Cycles of the slowest sub-cluster in a step, and units in use.
  std::pair<std::int64_t, double> below(std::size_t index, const LevelReuse& reuse,
                                        const StepCase& steps, std::int64_t most) {
    const ClusterLevel& level = levels_[index];
    const MapStep* spatial = nullptr;
    for (std::size_t i = level.maps.size(); i-- > 0;) {
      if (level.maps[i].spatial) spatial = &steps[i];
    }
    const bool ends = spatial->ends();
    const std::int64_t clusters = ends ? level.last_clusters : level.clusters;
    if (index + 1 == levels_.size()) {
      return {(most + machine_.lanes - 1) / machine_.lanes, real(clusters)};
    }
    std::int64_t cycles = 0, rest = clusters;
    double units = 0;
    if (ends && spatial->tail) {
      const LevelCost& tail = of(index + 1, reuse.tile(true, convolution_));
      cycles = tail.cycles;
      units = tail.units;
      --rest;
    }
    if (rest > 0) {
      const LevelCost& other = of(index + 1, reuse.tile(false, convolution_));
      cycles = std::max(cycles, other.cycles);
      units += other.units * real(rest);
    }
    return {cycles, units == 0 ? real(clusters) : units};
  }

  std::int64_t delay(std::int64_t elements) const {
    const std::int64_t sends =
        (elements + machine_.network_bandwidth - 1) / machine_.network_bandwidth;
    return machine_.network_latency + sends - 1;
  }

  struct Work {
    std::int64_t occurrences = 1, cycles = 0;
  };

  void account(std::size_t index, const Traffic& moved, const Traffic& first, Work work,
               bool is_first, LevelCost& cost, Sums& sums) const {
    const std::int64_t in = delay(moved.in), out = delay(moved.out);
    std::int64_t step = is_first ? work.cycles + in : std::max({in, work.cycles, out});
    const std::int64_t compute = std::max<std::int64_t>(work.cycles, 1);
    if (index == 0) {
      // The buffer in L2 is filled and emptied in every step, whatever the step moves.
      for (const std::int64_t buffer : {first.in, first.out}) {
        step = std::max(step, kBuffers * buffer / machine_.offchip_bandwidth / kBuffers);
        sums.offchip = std::max(sums.offchip, kBuffers * buffer / compute);
      }
      sums.offchip /= kBuffers;
    }
    cost.cycles += work.occurrences * step;
    sums.peak = std::max(sums.peak, moved.most() / compute);
    sums.bandwidth += real(work.occurrences * moved.most() / compute);
    sums.steps += work.occurrences;
  }

  void finish(const DimSizes& sizes, const Traffic& first, const Sums& sums,
              LevelCost& cost) const {
    DirectiveCost& f = cost.figures;
    f.cycles = real(cost.cycles);
    f.units = cost.units;
    f.input.l1_reads = f.filter.l1_reads = f.multiply_adds;
    f.input.l1_writes = f.input.l2_reads;
    f.filter.l1_writes = f.filter.l2_reads;
    f.input.l2_writes = elements(tensors_.input, sizes, false);
    f.filter.l2_writes = elements(tensors_.filter, sizes, false);
    f.output.l2_reads = elements(tensors_.output, sizes, true);
    f.l2_words = real(kBuffers * (first.in + first.out));
    f.peak_bandwidth = real(sums.peak);
    f.mean_bandwidth = sums.bandwidth / real(std::max<std::int64_t>(sums.steps, 1));
    f.offchip_bandwidth = real(sums.offchip);
  }

  const DirectiveMachine& machine_;
  bool convolution_;
  LayerTensors tensors_;
  std::vector<ClusterLevel> levels_;
  std::vector<std::map<DimSizes, LevelCost>> known_;  // costs of tiles, by level
};

double l2_accesses(const TensorAccesses& t) { return t.l2_reads + t.l2_writes; }
double l1_accesses(const TensorAccesses& t) { return t.l1_reads + t.l1_writes; }

}  // namespace

DirectiveCost evaluate_directives(const DirectiveLayer& layer, const DirectiveMachine& machine) {
  return Evaluation(layer, machine).run();
}

double l1_energy(const DirectiveCost& c) {
  return kMultiplyAddEnergy * kL1Energy *
         (l1_accesses(c.input) + l1_accesses(c.filter) + l1_accesses(c.output));
}

double l2_energy(const DirectiveCost& c) {
  return kMultiplyAddEnergy * kL2Energy *
         (l2_accesses(c.input) + l2_accesses(c.filter) + c.output.l2_writes);
}

}  // namespace orrery
