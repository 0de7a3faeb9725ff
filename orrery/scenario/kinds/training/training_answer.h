// The answer at one point of a question about training.
//
// Metrics: iteration_time, throughput, throughput_per_gpu, model_tflops (per GPU), mfu, hfu; power,
// energy_per_token, and clock where a power limit or a clock is asked for; bubble and communication
// (exposed), shares of the iteration; tensor_exposed, context_exposed, expert_exposed,
// data_exposed, data_communication, data_overlap, port_contention; attention_block, attention_core,
// mlp_block and layer (one layer's forward and backward pass of a micro-batch), mlp_of_peak,
// mlp_flops, layer_flops; optimizer, memory, activations, fits (a probability), trained_parameters;
// with a length of the run: time_to_train, gpu_hours, energy, total_flops, evaluation; with a
// price: cost_per_hour, cost; of the plant: training_plant.h; of several sizes: scaling_efficiency.
#pragma once

#include <span>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_setting.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// Fills `point`, its `at` first. Infeasible: the layout breaks a rule of the job, the model or the
// schedule.
void answer_training(Facts& facts, const TrainingQuestion& question, const TrainingSetting& setting,
                     Point& point);

// Adds what follows from several points of one sweep of sizes: where the number of GPUs differs
// scaling_efficiency, against the first point that has a throughput. Takes sizes that are 1
// everywhere out of `at`.
void compare_training(std::span<Point> points, bool bounds);

}  // namespace orrery
