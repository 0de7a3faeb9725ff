// Search for a good mapping of an einsum on a chip.
//
// Mappers:
//   random-search  draws mappings until enough of them are valid. In half of the draws arrays are
//                  filled; in all of them, loops that do not fit move outwards (mapspace.h)
//   hill-climb     draws a tenth of them, then changes the best one, one choice at a time, keeps
//                  what is no worse, and after many changes in vain draws again
//
// Both are deterministic: the same seed gives the same mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/search/mapspace.h"

namespace orrery {

enum class MappingObjective { kEnergyDelayProduct, kEnergy, kDelay };

struct MapperOptions {
  MappingObjective objective = MappingObjective::kEnergyDelayProduct;
  std::int64_t valid = 1000;            // valid mappings to evaluate
  std::int64_t most_tried = 1'000'000;  // in a row without a valid one, before the search gives up
  std::uint64_t seed = 1;
};

struct MapperResult {
  Mapping best;
  NestCounts counts;
  NestCost cost;
  double score = 0;  // of the objective: J * cycles, pJ or cycles
  std::int64_t tried = 0, valid = 0;
  // Mappings that failed, by the reason.
  std::int64_t failed_fan_out = 0;
  std::vector<std::int64_t> failed_capacity;  // of each level
  bool found() const { return valid > 0; }
};

double score_of(MappingObjective objective, const NestCost& cost);

class Mapper {
 public:
  virtual ~Mapper() = default;
  virtual MapperResult search(const Einsum& problem, const Chip& chip,
                              const MapspaceConstraints& constraints,
                              const MapperOptions& options) const = 0;
};

// The names of all mappers.
std::span<const std::string_view> mapper_names();
// InputError with the nearest name if there is none of that name.
std::unique_ptr<Mapper> make_mapper(const std::string& name);

}  // namespace orrery
