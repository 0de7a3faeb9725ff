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

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/energy/account/price_book.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/memory/training_memory.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/training/calibration_runs.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/scenario/setup/plant_account.h"
#include "orrery/training/chance/chance.h"
#include "orrery/training/fit/calibration_factors.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

// Inputs of a point besides its question. Borrowed.
struct TrainingSetting {
  const Architecture& model;
  const Gpu& gpu;
  std::string node;  // empty: the GPU's usual one
  const KernelModel& kernels;
  bool breakdown = true;               // fill Point::kernels
  bool timeline = false;               // fill TrainingDetail, event by event
  bool bounds = false;                 // fill Point::bounds
  bool chakra = false;                 // fill Point::files, event by event
  const GpuPrice* price = nullptr;     // null: the cost is not asked for
  const PlantChoice* plant = nullptr;  // null: the plant is not asked for
  PowerKnobs knobs = {};               // of the boards
};

// Fills `point`, its `at` first. Infeasible: the layout breaks a rule of the job, the model or the
// schedule.
void answer_training(Facts& facts, const TrainingQuestion& question, const TrainingSetting& setting,
                     Point& point);

// Adds what follows from several points of one sweep of sizes: where the number of GPUs differs
// scaling_efficiency, against the first point that has a throughput. Takes sizes that are 1
// everywhere out of `at`.
void compare_training(std::span<Point> points, bool bounds);

// Factors on the stack's constants, fitted to a user's runs.
struct TrainingCalibration {
  CalibrationFactors factors;
  std::string note;
};

class TrainingAnswerer {
 public:
  // Borrows everything.
  TrainingAnswerer(Facts& facts, const TrainingQuestion& question, const TrainingSetting& setting);

  // Fills in everything but `at`, and sets the micro-batch and the global batch of the job where
  // the question asks for the largest that fits. REQUIRES that check_job accepts.
  void answer(TrainingJob& job, Point& point);

  // A search over layouts needs these parts of the answer, each for a fraction of its time. All of
  // them REQUIRE that check_job and the schedule accept, and a setting without knobs.
  //
  // The memory of the fullest rank.
  TrainingMemory memory(const TrainingJob& job) const;
  // The iteration by its closed form, as answer() has it.
  struct Timed {
    IterationTime time;
    ClockedSteps steps;  // the work of a GPU's board
  };
  // With the boards at a limit or a clock (InputError, NoData: check_board; Infeasible: none is low
  // enough).
  Timed time(const TrainingJob& job, const PowerKnobs& boards) const;
  // The chance that a job with this memory fits.
  double fits(const TrainingMemory& memory) const;
  // The mean time of the run with evaluations, checkpoints and failures; nothing: the question has
  // no run. Of chance it is the closed form (FailingRun), where the answer has the mean of draws.
  struct RunTime {
    Seconds total;
    double busy = 1;  // busy_share
  };
  std::optional<RunTime> run(const IterationTime& time, const TrainingJob& job) const;

 private:
  struct Machine {
    Cluster cluster;
    std::unique_ptr<NetworkModel> network;
  };
  std::shared_ptr<const Machine> machine(std::int64_t gpus) const;
  TrainingMemory add_memory(TrainingJob& job, Point& point) const;
  // Adds host_memory, and says where a node's host has too little of it.
  void check_host(const TrainingMemory& memory, const TrainingJob& job, Point& point) const;
  // The stack's constants for a job, with the factors of the user's runs. `release`: instead of the
  // question's.
  TrainingConstants constants(const TrainingJob& job, std::optional<double> release) const;
  // The release that is assumed where the question names none, with the deviation that this adds;
  // nothing where all releases take the same time.
  std::optional<Undeclared> undeclared_release(const IterationParts& parts,
                                               const TrainingJob& job) const;
  // The same of the release of PyTorch; nothing where the newest runs the same kernels, or the
  // question states it or the stack's release. `time`: of the job by `iterations`.
  std::optional<Undeclared> undeclared_torch(const IterationModel& iterations,
                                             const IterationTime& time, const TrainingConstants& k,
                                             const TrainingJob& job) const;
  // The boards' clock under `knobs` during an iteration. `paging`: added to the optimizer.
  struct ClockedOn {
    const Machine& machine;
    PowerKnobs knobs;
    Seconds paging;
  };
  IterationClock clock_of(const TrainingJob& job, const TrainingConstants& k,
                          const ClockedOn& on) const;
  void calibrate();
  TrainingCalibration calibration_of(const std::vector<CalibrationRun>& runs) const;
  // The run that repeats the iteration.
  struct Run {
    std::optional<double> steps;  // none if the question has no run
    double iterations = 0;        // steps, and evaluations by their time
    std::optional<ChanceResult> chance;
    double busy = 1;  // busy_share
  };
  // Adds evaluation.
  Run run_of(std::optional<double> steps, const IterationTime& time,
             const Estimate<Seconds>& iteration, std::int64_t gpus, Point& point) const;
  // Adds time_to_train, gpu_hours, energy and cost. With `chance` in the question these are the
  // means over its draws, failures and checkpoints included, and its own metrics follow. `power`:
  // of a GPU's board in the mean of the run. `hour`: the price of an hour of all GPUs at it.
  void add_run(const Run& run, const Estimate<Seconds>& iteration, std::int64_t gpus,
               const std::optional<Estimate<Watts>>& power,
               const std::optional<Estimate<Usd>>& hour, Point& point) const;
  // The price of an hour of all GPUs, with the electricity of owned ones; nothing: not asked for.
  std::optional<Estimate<Usd>> price_of_hour(std::int64_t gpus,
                                             const std::optional<Estimate<Watts>>& power,
                                             const std::optional<PlantAccount>& plant,
                                             Point& point) const;

  Facts& facts_;
  const TrainingQuestion& question_;
  const TrainingSetting& setting_;
  StackTraits traits_;
  std::shared_ptr<const ConstantTable> table_;
  TrainingMemoryConstants memory_;
  std::optional<double> release_;                           // the date of question.stack_version
  std::shared_ptr<const TrainingCalibration> calibration_;  // by question.calibration_runs
};

}  // namespace orrery
