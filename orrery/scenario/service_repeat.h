// A simulated service over several seeds.
#pragma once

#include "orrery/scenario/service_answer.h"

namespace orrery {

// Simulates the loads of seeds seed + 1 .. seed + repeat - 1 beside the one whose metrics are in
// `point`, on all cores. Every metric that a simulation varies becomes the mean over the seeds; its
// intervals hold those of the step times and the confidence of the mean (Student's t, 90 and 50 %),
// added in squares. The same bytes on any number of threads.
void repeat_service(const ServiceScenario& service, double rate, const SimulationConfig& config,
                    const MakeClocks& clocks, Point& point);

}  // namespace orrery
