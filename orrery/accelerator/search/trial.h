// Trials of mappings: what every mapper does with a choice.
#pragma once

#include "orrery/accelerator/search/mapper.h"

namespace orrery {

// Builds, checks, counts and prices choices, and remembers the best.
class Trial {
 public:
  Trial(const Einsum& problem, const Chip& chip, const MapspaceConstraints& constraints,
        const MapperOptions& options);

  const Mapspace& space() const { return space_; }
  // Whether the choice is valid; if so, `score` is its score.
  bool run(const MappingChoice& choice, double& score);
  bool done() const;
  MapperResult take();

 private:
  bool tiles_fit();

  const Einsum* problem_;
  const Chip* chip_;
  MapperOptions options_;
  Mapspace space_;
  TimeloopCounter counter_;
  Mapping mapping_;
  NestCounts counts_;
  NestCost cost_;
  MapperResult result_;
  std::int64_t in_vain_ = 0;
};

}  // namespace orrery
