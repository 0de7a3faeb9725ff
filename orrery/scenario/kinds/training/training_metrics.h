// The names of the figures of a question about training.
//
// Metrics: peak_micro_batches of an iteration event by event; iteration_time, throughput,
// throughput_per_gpu, model_tflops (per GPU), mfu, hfu; power, energy_per_token, and clock where a
// power limit or a clock is asked for; bubble and communication (exposed), shares of the iteration;
// tensor_exposed, context_exposed, expert_exposed, data_exposed, stragglers, data_communication,
// data_overlap, port_contention; attention_block, attention_core, mlp_block and layer (one layer's
// forward and backward pass of a micro-batch), mlp_of_peak, mlp_flops, layer_flops; optimizer;
// max_micro_batch where it is asked for, memory, memory_reserved, memory_allocated, activations,
// fits (a probability), host_memory where tensors lie on the host; trained_parameters; with a
// price: cost_per_hour, cost; with a length of the run: evaluation, time_to_train, gpu_hours,
// energy, total_flops; with chance: iteration_p50, iteration_p95 and of a run time_to_train_p5,
// _p50, _p95, goodput, failures, checkpoint_interval; of the plant: training_plant.h; of several
// sizes: scaling_efficiency.
#pragma once

#include <span>

#include "orrery/scenario/kinds/training/training_memory_answer.h"
#include "orrery/scenario/kinds/training/training_run.h"

namespace orrery {

// The figures of one point. Everything is borrowed.
struct JobFigures {
  const TrainingFigures& iteration;
  const JobMemory& memory;
  const ClockedSteps& steps;  // of a board
  const TrainingAccount& account;
  const JobRun& run;
};

// Adds the metrics in the order of an answer, and a note of the plant's.
void add_training_metrics(const TrainingSetting& setting, const JobFigures& of, Point& point);

// Adds what follows from several points of one sweep of sizes: where the number of GPUs differs
// scaling_efficiency, against the first point that has a throughput. Takes sizes that are 1
// everywhere out of `at`.
void compare_training(std::span<Point> points, bool bounds);

}  // namespace orrery
