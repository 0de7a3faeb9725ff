#include "orrery/accelerator/architecture/chip.h"

namespace orrery {

std::int64_t fan_out(const StorageLevel& level) {
  std::int64_t n = 1;
  for (const ArrayAxis& axis : level.array) n *= axis.size;
  return n;
}

std::vector<std::int64_t> instances(const Chip& chip) {
  std::vector<std::int64_t> all{1};
  for (const StorageLevel& level : chip.levels) all.push_back(all.back() * fan_out(level));
  return all;
}

}  // namespace orrery
