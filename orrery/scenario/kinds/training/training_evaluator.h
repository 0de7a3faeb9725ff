// A run on one type of GPU, whose layouts a search asks about one after the other.
//
// Time, memory and money of a layout are those that the answer to its scenario has
// (training_answer.h), without breakdown, intervals and notes. Kernels are remembered between
// layouts, so that one thread alone may ask.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/energy/account/price_book.h"
#include "orrery/kernel/tiers/remembered_kernels.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_system.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/plant_account.h"

namespace orrery {

class TrainingEvaluator {
 public:
  // `scenario` asks about a run, on a GPU. Borrows `facts`. InputError: the GPU or its price is not
  // known.
  TrainingEvaluator(Facts& facts, const Scenario& scenario);
  TrainingEvaluator(const TrainingEvaluator&) = delete;  // its system refers to its members
  TrainingEvaluator& operator=(const TrainingEvaluator&) = delete;

  const Architecture& model() const { return *model_; }
  const Gpu& gpu() const { return gpu_; }
  std::int64_t gpus_of_node() const;

  // The memory of the fullest rank, and the chance that a job with it fits, 0 to 1. It fits where
  // the chance is one half or more.
  TrainingMemory memory(const TrainingJob& job) const { return system_->memory(job); }
  double fits(const TrainingMemory& memory) const { return system_->fits(memory); }

  // A run of the job. Joules are 0 where the GPU's power is not known, USD where no price is asked
  // for.
  struct Run {
    Seconds iteration, total;
    double usd = 0, joules = 0;
  };
  Run run(const TrainingJob& job) const { return run(job, {}); }
  // With the boards at a limit or a clock. REQUIRES takes(boards). Infeasible: a board draws more
  // than the limit at its lowest clock.
  Run run(const TrainingJob& job, const PowerKnobs& boards) const;
  // The share of the energy, and of the money, of run(job) that no limit and no clock of the boards
  // goes below. REQUIRES that the power of the GPU is known.
  double least_energy(const TrainingJob& job) const;
  // Whether the boards can be set so, and their power and clock are known.
  bool takes(const PowerKnobs& boards) const;
  // Whether USD hold what the GPUs draw.
  bool electricity() const { return plant_.has_value(); }

  // USD for an hour of one GPU, without the electricity of an owned one; 0: not asked for.
  double hour() const { return price_ ? price_->hour.value.value() : 0; }

 private:
  Facts& facts_;
  const Gpu& gpu_;
  std::shared_ptr<const Architecture> model_;
  TrainingQuestion question_;
  std::optional<GpuPrice> price_;
  std::optional<PlantAccount> plant_;  // where the price has no electricity in it
  RememberedKernels kernels_;          // layouts have most of their products in common
  std::optional<TrainingSetting> setting_;
  std::optional<TrainingSystem> system_;
};

}  // namespace orrery
