// The software stack and the machines of a question about training. They give the time and the
// memory of a job by the fitted constants of the stack.
//
// An answer (training_answer.h) asks for the parts, and a search over layouts
// (training_evaluator.h) for time() and memory(), which take a fraction of an answer's time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "orrery/energy/power/clock_power.h"
#include "orrery/memory/training_memory.h"
#include "orrery/scenario/kinds/training/training_calibration.h"
#include "orrery/scenario/kinds/training/training_machine.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_setting.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/training/iteration/constants.h"
#include "orrery/training/iteration/iteration.h"

namespace orrery {

class TrainingSystem {
 public:
  // Borrows everything. InputError: training_calibration, release_of.
  TrainingSystem(Facts& facts, const TrainingQuestion& question, const TrainingSetting& setting);

  Facts& facts() const { return facts_; }
  const TrainingQuestion& question() const { return question_; }
  const TrainingSetting& setting() const { return setting_; }
  const StackTraits& traits() const { return traits_; }
  const ConstantTable& table() const { return *table_; }
  // The peak of the GPU's arithmetic in the format in which the job multiplies.
  FlopsPerSecond peak(const TrainingJob& job) const;

  std::shared_ptr<const TrainingMachine> machine(std::int64_t gpus) const;

  // The stack's constants for a job, with the factors of the user's runs. `release`: of the stack,
  // in the place of the question's.
  TrainingConstants constants(const TrainingJob& job) const { return constants(job, release_); }
  TrainingConstants constants(const TrainingJob& job, std::optional<double> release) const;
  // The calibration by the user's runs; null: the question has none.
  const TrainingCalibration* calibration() const { return calibration_.get(); }
  // Whether neither a release nor own runs say which software is meant.
  bool open_release() const { return !release_ && calibration_ == nullptr; }

  // All functions below REQUIRE that check_job and the schedule accept the job.

  const TrainingMemoryConstants& memory_constants() const { return memory_; }
  // The memory of the fullest rank.
  TrainingMemory memory(const TrainingJob& job) const;
  // The chance that a job with this memory fits, 0 to 1.
  double fits(const TrainingMemory& memory) const;

  // The clock of the boards under `knobs` during an iteration; without knobs the reference clock.
  // `paging`: a time that is added to the optimizer. InputError, NoData: check_board. Infeasible:
  // no clock keeps the limit.
  IterationClock clock(const TrainingJob& job, const TrainingConstants& constants,
                       const PowerKnobs& knobs, Seconds paging) const;

  // The iteration by its closed form.
  struct Timed {
    IterationTime time;
    ClockedSteps steps;  // the work of a GPU's board
  };
  // With the boards at a limit or a clock; the errors of clock().
  Timed time(const TrainingJob& job, const PowerKnobs& boards) const;

 private:
  Facts& facts_;
  const TrainingQuestion& question_;
  const TrainingSetting& setting_;
  StackTraits traits_;
  std::shared_ptr<const ConstantTable> table_;
  TrainingMemoryConstants memory_;
  std::optional<double> release_;  // the date of question.stack_version
  std::shared_ptr<const TrainingCalibration> calibration_;
};

}  // namespace orrery
