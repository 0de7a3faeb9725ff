// Least squares for the constants of training iterations: the factors of groups, from measured
// iterations.
//
// The parts of every iteration are computed once, so that a fit needs no kernel or network model.
// The fit minimises
//
//   sum over iterations of  w |log(predicted / measured)| / b
//   + sum over factors of   (log factor - log mean)^2 / (2 s^2)
//
// that is, Laplace noise of scale b and normal priors. A factor that few iterations depend on stays
// near its mean. Errors beyond 0.5 have a logarithmic tail and pull less. The solver is reweighted
// least squares (Gauss-Newton steps, each halved until the sum falls).
#pragma once

#include <vector>

#include "orrery/training/iteration/iteration.h"

namespace orrery {

// A measured iteration. Borrows `parts` and `job`.
struct MeasuredIteration {
  const IterationParts* parts = nullptr;
  const TrainingJob* job = nullptr;
  Seconds time;
  double weight = 1;  // w
  struct Group {
    std::size_t index;  // in the list of FactorGroups
    double power = 1;   // of the group's factors
  };
  std::vector<Group> groups;  // the groups whose factors multiply `fixed`
  ConstantValues fixed;       // the constants before these factors

  // Logarithm of predicted over measured time.
  double error(const TrainingConstants& constants) const;
};

// The prior of the factors of one group.
struct FactorGroup {
  ConstantValues mean;
  ConstantValues sigma;  // standard deviations of the logarithms
};

// Fits the factors of each group. `noise`: b above.
std::vector<ConstantValues> fit_factors(const std::vector<MeasuredIteration>& iterations,
                                        const std::vector<FactorGroup>& groups, double noise);

}  // namespace orrery
