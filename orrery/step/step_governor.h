// Who decides at which clock a GPU computes a step: a board under a power limit, or with its clock
// locked. Without a governor a step takes the time that its kernels are predicted to take.
#pragma once

#include <functional>

namespace orrery {

struct StepTime;

class StepGovernor {
 public:
  // The clock of a step, and the power that is left at it.
  struct Decision {
    double slowdown = 1;  // the clock that the predicted times stand for over the step's
    double clock = 1;     // of the step, as a share of the boost clock
    double power = 1;     // of the board, over that at the former clock
    double error = 0;     // of the clock, relative; 0 where it is locked
  };

  virtual ~StepGovernor() = default;
  // `at(n)`: the step with its clock slowed by n >= 1. Thread-safe.
  virtual Decision decide(const std::function<StepTime(double slowdown)>& at) const = 0;
};

}  // namespace orrery
