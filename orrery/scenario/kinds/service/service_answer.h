// A simulated service as an Answer's point.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/fleet/service_power.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/kinds/service/side_by_side.h"
#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/steps/step_clock.h"
#include "orrery/step/step_model.h"

namespace orrery {

// The clocks of a simulation's pools.
class Clocks {
 public:
  void add(std::unique_ptr<StepTimer> clock) {
    view_.push_back(clock.get());
    owned_.push_back(std::move(clock));
  }
  const std::vector<StepTimer*>& view() const { return view_; }

 private:
  std::vector<std::unique_ptr<StepTimer>> owned_;
  std::vector<StepTimer*> view_;
};

// Makes the clock of a pool, or of all. Thread-safe.
using MakeClock = std::function<std::unique_ptr<StepTimer>(StepScale scale)>;
using MakeClocks = std::function<Clocks(StepScale scale)>;

// Every step at its own 5 % and 95 % quantile.
StepScale fast_steps();
StepScale slow_steps();

// A service without the techniques that are asked about, to compare with.
struct PlainService {
  SimulationConfig config;
  MakeClocks clocks;
};

// Whether the service has disaggregated prefill and a fixed number of engines, so that the same
// engines can be asked to do both.
bool compared_with_collocated(const SimulationConfig& config);

// The same engines, each of which does both prefill and decode.
SimulationConfig collocated(SimulationConfig config);

// The origin of step times: that of a decode step of at most 32 sequences with 1,024 cached tokens
// each.
Origin step_origin(const StepModel& steps, const SimulationConfig& config);

// The 90 % interval from the figure's values with fast and slow steps, the 50 % one from it.
void set_interval(Metric& m, double a, double b);

// One simulation of a service, and what it is compared with. Everything is borrowed.
struct SimulatedService {
  const ServiceQuestion& question;
  const SimulationConfig& config;
  const RequestLoad& load;
  const MakeClocks& clocks;
  const UseOfGpus& use;
  Origin origin;              // of the step times
  double ttft_error;          // of first tokens, in addition to those of steps
  const PlainService* plain;  // null: compared with nothing
};

// The decode step by which a simulated service is judged: at most 32 sequences of 1,024 tokens.
Batch usual_decode(const SimulationConfig& config);

// Simulates the load three times: with step times as predicted, with all of them fast and with all
// of them slow, which gives every metric's interval (queueing multiplies errors of steps;
// docs/composition.md). Without RunOptions::intervals it simulates once. A plain service is
// simulated once with the same load; metrics say how much faster or slower requests are than there.
// Adds metrics, and requests and steps (service_detail.h) if asked, to `point`. All simulations run
// side by side with the jobs of `others`.
void answer_service(const SimulatedService& service, const RunOptions& options,
                    std::vector<Job> others, Point& point);

}  // namespace orrery
