#include "orrery/accelerator/dataflow/step_cases.h"

namespace orrery {
namespace {

using At = MapStep::At;

std::vector<MapStep> steps_in_time(const LevelMap& m, std::int64_t size) {
  std::vector<MapStep> steps = {{At::kFirst, 1, size <= m.size, size < m.size, false}};
  if (size <= m.size) return steps;
  const std::int64_t middle = (size - m.size) / m.offset;
  if (middle > 0) steps.push_back({At::kMiddle, middle, false, false, false});
  if (middle * m.offset + m.size < size) steps.push_back({At::kLast, 1, false, false, false});
  return steps;
}

std::vector<MapStep> steps_in_space(const LevelMap& m, std::int64_t clusters, std::int64_t size) {
  const std::int64_t covered = m.size + m.offset * (clusters - 1);
  std::vector<MapStep> steps = {{At::kFirst, 1, size <= covered, size < covered, size < covered}};
  if (size <= covered) return steps;
  const std::int64_t all = m.offset * clusters;  // a step of all sub-clusters
  const std::int64_t middle = ((size - m.size) / m.offset + 1) / clusters - 1;
  if (middle > 0) steps.push_back({At::kMiddle, middle, false, false, false});
  if ((middle + 1) * all + covered > size && middle * all + covered != size) {
    const std::int64_t rest = size - (middle + 1) * all;
    const std::int64_t used = rest < m.size ? 1 : (rest - m.size) / m.offset + 1;
    steps.push_back({At::kLast, 1, false, false, (used - 1) * m.offset + m.size < rest});
  }
  return steps;
}

}  // namespace

void for_each_step(const ClusterLevel& level, const DimSizes& sizes,
                   const std::function<void(const StepCase&)>& visit) {
  std::vector<std::vector<MapStep>> steps;
  std::size_t all = 1;
  for (const LevelMap& m : level.maps) {
    steps.push_back(m.spatial ? steps_in_space(m, level.clusters, sizes[m.dim])
                              : steps_in_time(m, sizes[m.dim]));
    all *= steps.back().size();
  }
  StepCase chosen(steps.size());
  for (std::size_t c = 0; c < all; ++c) {
    std::size_t inner = 1;  // combinations of the maps inside
    for (std::size_t i = steps.size(); i-- > 0;) {
      chosen[i] = steps[i][(c + inner - 1) / inner % steps[i].size()];
      inner *= steps[i].size();
    }
    visit(chosen);
  }
}

}  // namespace orrery
