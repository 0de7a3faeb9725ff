// A simulated service over several seeds.
#pragma once

#include <vector>

#include "orrery/scenario/kinds/service/service_answer.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {

// Simulations with the loads of the further seeds, seed + 1 .. seed + repeat - 1.
class SeedRuns {
 public:
  // Borrows everything.
  SeedRuns(const ServiceQuestion& service, double rate, const SimulationConfig& config,
           const MakeClocks& clocks, const UseOfGpus& use);

  // One simulation each, to be run before merge().
  std::vector<Job> jobs();

  // `point` has the metrics of the first seed. Every metric that a simulation varies becomes the
  // mean over the seeds; its intervals hold those of the step times and the confidence of the mean
  // (Student's t, 90 and 50 %), added in squares. The same bytes on any number of threads.
  void merge(Point& point) const;

 private:
  void run(std::size_t i);

  const ServiceQuestion& service_;
  double rate_;
  const SimulationConfig& config_;
  const MakeClocks& clocks_;
  const UseOfGpus& use_;
  std::vector<std::vector<Metric>> runs_;  // one for each of seed + 1, seed + 2, ...
};

}  // namespace orrery
