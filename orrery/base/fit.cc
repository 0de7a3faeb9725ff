#include "orrery/base/fit.h"

#include <nlopt.hpp>

#include "orrery/base/random.h"

namespace orrery {

std::vector<double> minimise(const Loss& loss, std::vector<double> start, const Bounds& bounds,
                             const Search& search) {
  nlopt::opt optimiser(nlopt::LN_SBPLX, static_cast<unsigned>(start.size()));
  optimiser.set_lower_bounds(bounds.lower);
  optimiser.set_upper_bounds(bounds.upper);
  optimiser.set_initial_step(search.step);
  optimiser.set_maxeval(search.evaluations);
  if (search.relative_tolerance > 0) optimiser.set_ftol_rel(search.relative_tolerance);
  Loss function = loss;
  optimiser.set_min_objective([](const std::vector<double>& x, std::vector<double>&,
                                 void* data) { return (*static_cast<Loss*>(data))(x); },
                              &function);
  double least = 0;
  optimiser.optimize(start, least);
  return start;
}

bool leave_out_by_hash(std::string_view name, unsigned every) {
  return hash_text(name) % every == 0;
}

}  // namespace orrery
