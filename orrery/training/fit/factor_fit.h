// Least squares for the constants of training iterations: factors of groups, from measured ones.
//
// The parts of every iteration are gathered once; a fit then needs no kernel or network. Found is
// the least
//   sum over iterations  w |log(predicted / measured)| / b  +  sum over factors  (log factor / s)^2
//   / 2
// that is, Laplace noise of scale b and normal priors, so that a factor which few iterations speak
// of stays near its mean. Errors beyond 0.5 pull less. Solved by reweighted least squares
// (Gauss-Newton steps, halved until the sum falls).
#pragma once

#include <vector>

#include "orrery/training/iteration/iteration.h"

namespace orrery {

// A measured iteration. Borrows parts and job.
struct MeasuredIteration {
  const IterationParts* parts = nullptr;
  const TrainingJob* job = nullptr;
  Seconds time;
  double weight = 1;
  struct Group {
    std::size_t index;  // of FactorGroups
    double power = 1;
  };
  std::vector<Group> groups;  // whose factors multiply, each to its power
  ConstantValues fixed;       // what they multiply

  // Log of predicted over measured.
  double error(const TrainingConstants& constants) const;
};

struct FactorGroup {
  ConstantValues mean;   // of the prior
  ConstantValues sigma;  // deviations of the logarithms
};

// The factors of each group. `noise`: b.
std::vector<ConstantValues> fit_factors(const std::vector<MeasuredIteration>& iterations,
                                        const std::vector<FactorGroup>& groups, double noise);

}  // namespace orrery
