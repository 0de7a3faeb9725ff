#include "orrery/accelerator/search/hill_climb_mapper.h"

#include <algorithm>

#include "orrery/accelerator/search/trial.h"

namespace orrery {
namespace {

constexpr int kChangesInVain = 300;  // before the climb begins anew

}  // namespace

MapperResult HillClimbMapper::search(const Einsum& problem, const Chip& chip,
                                     const MapspaceConstraints& constraints,
                                     const MapperOptions& options) const {
  Trial trial(problem, chip, constraints, options);
  RandomStream random(options.seed, "mapper");
  const std::int64_t drawn = std::max<std::int64_t>(1, options.valid / 10);
  MappingChoice choice, best, next;
  while (!trial.done()) {
    double best_score = 0, score = 0;
    std::int64_t valid = 0;
    while (valid < drawn && !trial.done()) {
      trial.space().draw(random, choice);
      if (random.below(2) == 0) trial.space().fill(random, choice);
      trial.space().fit(random, choice);
      if (!trial.run(choice, score)) continue;
      if (++valid == 1 || score < best_score) {
        best = choice;
        best_score = score;
      }
    }
    if (valid == 0) break;
    for (int in_vain = 0; in_vain < kChangesInVain && !trial.done(); ++in_vain) {
      next = best;
      trial.space().change(random, next);
      if (random.below(2) == 0) trial.space().change(random, next);
      trial.space().fit(random, next);
      if (!trial.run(next, score) || score > best_score) continue;
      if (score < best_score) in_vain = 0;
      best = next;
      best_score = score;
    }
  }
  return trial.take();
}

}  // namespace orrery
