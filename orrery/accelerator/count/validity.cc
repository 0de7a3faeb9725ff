#include "orrery/accelerator/count/validity.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/index.h"

namespace orrery {

std::vector<Violation> fan_out_violations(const Chip& chip, const Mapping& mapping) {
  std::vector<Violation> out;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const std::vector<ArrayAxis>& array = chip.levels[l].array;
    for (std::size_t axis = 0; axis < std::max<std::size_t>(2, array.size()); ++axis) {
      double used = 1;
      for (const MappingNode& node : mapping.nodes) {
        if (node.space() && node.level == static_cast<int>(l) && node.axis == axis) {
          used *= real(node.size);
        }
      }
      const double built = axis < array.size() ? real(array[axis].size) : 1;
      if (used > built) {
        out.push_back(
            {Violation::Kind::kFanOut, static_cast<int>(l), static_cast<int>(axis), used, built});
      }
    }
  }
  return out;
}

std::vector<Violation> capacity_violations(const Chip& chip, const NestCounts& counts) {
  std::vector<Violation> out;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const StorageLevel& level = chip.levels[l];
    if (!level.words) continue;
    double needed = 0;
    for (const TensorCounts& t : counts.levels[l].tensors) {
      if (t.kept) needed += t.tile;
    }
    const double available = std::floor(*level.words / level.multiple_buffering);
    if (needed > available) {
      out.push_back({Violation::Kind::kCapacity, static_cast<int>(l), 0, needed, available});
    }
  }
  return out;
}

std::string to_text(const Violation& violation, const Einsum& problem, const Chip& chip,
                    const NestCounts& counts) {
  const StorageLevel& level = chip.levels[index(violation.level)];
  if (violation.kind == Violation::Kind::kFanOut) {
    const auto axis = static_cast<std::size_t>(violation.axis);
    return fmt::format("{}: loops in space take {:.0f} instances along {}; the array has {:.0f}",
                       level.name, violation.needed,
                       axis < level.array.size() ? level.array[axis].name
                       : axis == 0               ? "X"
                                                 : "Y",
                       violation.available);
  }
  std::string tiles;
  const LevelCounts& c = counts.levels[index(violation.level)];
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    if (!c.tensors[t].kept) continue;
    tiles += fmt::format("{}{} {:.0f}", tiles.empty() ? "" : ", ", problem.tensors[t].name,
                         c.tensors[t].tile);
  }
  return fmt::format(
      "{}: tiles take {:.0f} words ({}); an instance has {:.0f}{}: {:.0f} too many", level.name,
      violation.needed, tiles, violation.available,
      level.multiple_buffering > 1
          ? fmt::format(" of {:.0f} with {:g} copies", *level.words, level.multiple_buffering)
          : "",
      violation.needed - violation.available);
}

}  // namespace orrery
