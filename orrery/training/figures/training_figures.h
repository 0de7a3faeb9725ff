// The figures of a training iteration as typed values, of one GPU on the pipeline stage with the
// most work. Times are of one iteration, and shares are 0 to 1.
#pragma once

#include <optional>

#include "orrery/training/events/iteration_events.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// The time of one iteration, and what it was made from. Everything is borrowed.
struct TimedIteration {
  const TrainingJob& job;
  const StackTraits& stack;
  const IterationModel& iterations;
  const IterationParts& parts;
  const IterationTime& time;
  const TrainingConstants& constants;
  const Estimate<Seconds>& whole;  // its time with the error of all that it consists of
};

// Work against the data sheet's peak.
struct WorkOfPeak {
  Flops work;
  FlopsPerSecond peak;
  Estimate<Seconds> time;

  double share() const { return work / peak / time.value; }
};

// Communication that no computation hides, by its kind.
struct ExposedCommunication {
  Seconds tensor, context, experts;
  Seconds data;   // of sharded weights, gradients and updated weights
  Seconds sends;  // between stages

  Seconds all() const { return tensor + context + experts + data + sends; }
};
ExposedCommunication exposed_communication(const IterationTime& time);

// The forward and backward pass of one micro-batch through one layer, as the mean over the layers
// of the first virtual stage that has a layer.
struct LayerFigures {
  Estimate<Seconds> attention, attention_core, mlp, all;
  Flops mlp_products, flops;
  // The MLP's products of all these layers, as uncertain as the whole iteration. No time: there are
  // none.
  WorkOfPeak products;
};

struct TrainingFigures {
  Estimate<Seconds> whole;  // the iteration
  IterationTime time;       // its parts, which are at best as certain
  double gpus = 1, tokens = 0;
  Flops flops;          // of the model for these tokens
  WorkOfPeak mfu, hfu;  // those of the model, and those that are executed
  ExposedCommunication exposed;
  // All communication of the busiest stage's weights and gradients, and the share that overlaps.
  Seconds data_communication;
  double data_overlap = 0;
  Seconds port_contention;  // transfers wait for others at the same port of their node
  LayerFigures layer;
  double trained_parameters = 0;
  // Most micro-batches whose activations are alive at once, of an iteration event by event.
  std::optional<double> peak_micro_batches;
};

// `peak`: of a GPU in the job's format. `events`: of the iteration; null: `timed` has the closed
// form.
TrainingFigures training_figures(const Architecture& model, const TimedIteration& timed,
                                 FlopsPerSecond peak, const IterationEvents* events);

}  // namespace orrery
