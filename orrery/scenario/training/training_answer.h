// The answer at one point of a question about training.
//
// Metrics: iteration_time, throughput, throughput_per_gpu, model_tflops (per GPU), mfu, hfu; bubble
// and communication (exposed), shares of the iteration; tensor_exposed, context_exposed,
// expert_exposed, data_exposed, data_communication, data_overlap, port_contention; attention_block,
// attention_core, mlp_block and layer (one layer's forward and backward pass of a micro-batch),
// mlp_of_peak, mlp_flops, layer_flops; optimizer, memory, activations, fits (a probability),
// trained_parameters; with tokens: time_to_train, gpu_hours, total_flops, evaluation and cost where
// asked; of several sizes: scaling_efficiency.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/memory/training_memory.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/training/training_points.h"
#include "orrery/training/fit/own_factors.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

class TrainingAnswerer {
 public:
  TrainingAnswerer(const TrainingQuestion& question, const TrainingSetting& setting,
                   const Catalog& catalog);

  // Fills in everything but `at`. REQUIRES that check_job accepts.
  void answer(TrainingJob job, Point& point);
  // Adds what follows from several points: scaling efficiency against the first that fits.
  void compare(std::vector<Point>& points) const;

 private:
  struct Machine {
    Cluster cluster;
    std::unique_ptr<NetworkModel> network;
  };
  const Machine& machine(std::int64_t gpus);
  void add_memory(TrainingJob& job, Point& point) const;
  // The stack's constants for a job, with the user's own factors. `release`: instead of the
  // question's.
  TrainingConstants constants(const TrainingJob& job, std::optional<double> release) const;
  // What a version that is not declared adds to the interval, and the release that stands for it;
  // nothing where all releases take as long.
  std::optional<Undeclared> undeclared_release(const IterationParts& parts,
                                               const TrainingJob& job) const;
  void read_own_runs();
  // Of the run that repeats the iteration: evaluation, time_to_train, gpu_hours, cost. Returns the
  // iterations that take as long, evaluations counted by their time.
  double add_run(double steps, const IterationTime& time, const Estimate<Seconds>& iteration,
                 double gpus, Point& point) const;

  const TrainingQuestion& question_;
  const TrainingSetting& setting_;
  const Catalog& catalog_;
  StackTraits traits_;
  ConstantTable table_;
  TrainingMemoryConstants memory_;
  std::map<std::int64_t, Machine> machines_;
  std::optional<double> release_;  // of question.stack_version
  std::optional<OwnFactors> own_;  // of question.own_runs
  std::string own_note_;
};

}  // namespace orrery
