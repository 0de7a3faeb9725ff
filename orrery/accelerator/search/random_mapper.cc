#include "orrery/accelerator/search/random_mapper.h"

#include "orrery/accelerator/search/trial.h"

namespace orrery {

MapperResult RandomMapper::search(const Einsum& problem, const Chip& chip,
                                  const MapspaceConstraints& constraints,
                                  const MapperOptions& options) const {
  Trial trial(problem, chip, constraints, options);
  RandomStream random(options.seed, "mapper");
  MappingChoice choice;
  double score = 0;
  while (!trial.done()) {
    trial.space().draw(random, choice);
    if (random.below(2) == 0) trial.space().fill(random, choice);
    trial.space().fit(random, choice);
    trial.run(choice, score);
  }
  return trial.take();
}

}  // namespace orrery
