// The mapper `random-search` (mapper.h).
#pragma once

#include "orrery/accelerator/search/mapper.h"

namespace orrery {

class RandomMapper : public Mapper {
 public:
  MapperResult search(const Einsum& problem, const Chip& chip,
                      const MapspaceConstraints& constraints,
                      const MapperOptions& options) const override;
};

}  // namespace orrery
