#include "orrery/training/own_factors.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr double kNoise = 0.03;

// Deviation of the logarithm of a factor.
double deviation(TrainingConstant c) {
  using C = TrainingConstant;
  switch (c) {
    case C::kProducts:
      return 0.15;
    case C::kAttention:
    case C::kAttentionBackward:
    case C::kExperts:
    case C::kHead:
      return 0.2;
    case C::kTensor:
    case C::kExpertExchange:
      return 0.3;
    default:
      return 0.8;
  }
}

}  // namespace

ConstantValues fit_own_factors(std::vector<MeasuredIteration> iterations) {
  FactorGroup own;
  own.mean.fill(1);
  for (std::size_t i = 0; i < kTrainingConstants; ++i)
    own.sigma[i] = deviation(static_cast<TrainingConstant>(i));
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
