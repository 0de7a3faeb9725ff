#include "orrery/accelerator/search/trial.h"

#include <array>
#include <cmath>

namespace orrery {

double score_of(MappingObjective objective, const NestCost& cost) {
  switch (objective) {
    case MappingObjective::kEnergy:
      return cost.energy;
    case MappingObjective::kDelay:
      return cost.cycles;
    case MappingObjective::kEnergyDelayProduct:
      break;
  }
  return cost.energy * 1e-12 * cost.cycles;
}

Trial::Trial(const Einsum& problem, const Chip& chip, const MapspaceConstraints& constraints,
             const MapperOptions& options)
    : problem_(&problem),
      chip_(&chip),
      options_(options),
      space_(problem, chip, constraints),
      counter_(problem, chip) {
  result_.failed_capacity.assign(chip.levels.size(), 0);
}

// Checks the tiles before anything is counted: most choices that fail do so here.
bool Trial::tiles_fit() {
  std::array<std::int64_t, kMostEinsumDims> extents;
  extents.fill(1);
  std::size_t end = mapping_.nodes.size();
  for (std::size_t l = chip_->levels.size(); l-- > 0;) {
    std::size_t begin = end;
    while (begin > 0 && mapping_.nodes[begin - 1].level == static_cast<int>(l)) --begin;
    double needed = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const MappingNode& n = mapping_.nodes[i];
      if (!n.hold()) extents[static_cast<std::size_t>(n.index)] *= n.size;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const MappingNode& n = mapping_.nodes[i];
      if (n.hold()) {
        needed += tile_words(problem_->tensors[static_cast<std::size_t>(n.index)], extents);
      }
    }
    const StorageLevel& level = chip_->levels[l];
    if (level.words && needed > std::floor(*level.words / level.multiple_buffering)) {
      ++result_.failed_capacity[l];
      return false;
    }
    end = begin;
  }
  return true;
}

bool Trial::run(const MappingChoice& choice, double& score) {
  ++result_.tried;
  ++in_vain_;
  if (!space_.build(choice, mapping_)) {
    ++result_.failed_fan_out;
    return false;
  }
  if (!tiles_fit()) return false;
  in_vain_ = 0;
  ++result_.valid;
  counter_.count(mapping_, counts_);
  cost_nest(*chip_, counts_, cost_);
  score = score_of(options_.objective, cost_);
  if (result_.valid == 1 || score < result_.score) {
    result_.score = score;
    result_.best = mapping_;
  }
  return true;
}

bool Trial::done() const {
  return result_.valid >= options_.valid || in_vain_ >= options_.most_tried;
}

MapperResult Trial::take() {
  if (result_.found()) {
    counter_.count(result_.best, result_.counts);
    cost_nest(*chip_, result_.counts, result_.cost);
  }
  return std::move(result_);
}

}  // namespace orrery
