#include "orrery/training/own_factors.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kKernels = 0.2, kShares = 0.3, kNoise = 0.02;

}  // namespace

ConstantValues fit_own_factors(std::vector<MeasuredIteration> iterations) {
  using C = TrainingConstant;
  FactorGroup own;
  own.mean.fill(1);
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    const auto c = static_cast<C>(i);
    own.sigma[i] = c <= C::kExperts || c == C::kHead ? kKernels : kShares;
  }
  for (MeasuredIteration& m : iterations) m.groups = {{0}};
  return fit_factors(iterations, {own}, kNoise)[0];
}

TrainingConstants with_own_factors(TrainingConstants constants, const ConstantValues& own,
                                   double covered_error) {
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    const TrainingConstantFacts& f = facts(static_cast<TrainingConstant>(i));
    constants.value[i] = std::clamp(constants.value[i] * own[i], f.least, f.most);
  }
  constants.error = std::min(constants.error, covered_error);
  constants.calibrated = true;
  return constants;
}

}  // namespace orrery
