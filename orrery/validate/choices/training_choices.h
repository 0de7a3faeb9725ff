// Measured iterations as questions: the layout that trains fastest.
//
// A question is a set of complete rows of training/iteration.csv with one source, version, model,
// GPU, number of GPUs, sequence, global batch and number format, and with two or more layouts. A
// layout is what a planner chooses: the parallel sizes, the sharding and schedule, the micro batch
// and what is recomputed or offloaded. The times of several rows of one layout are averaged.
//
// The score of a layout is iterations per second; nothing limits it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/choices/regret.h"
#include "orrery/validate/fit/fit_training.h"
#include "orrery/validate/judge/training_folds.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {

// The rows of data/training with the constants that judge them.
class FittedTrainingRows {
 public:
  // By constants fitted without each source (TrainingFolds), or by those of the catalog. Rows that
  // cannot be predicted go to `refused`.
  FittedTrainingRows(const std::filesystem::path& dir, const Bundle& bundle,
                     ConstantsChoice constants, std::vector<RefusedRow>& refused);

  const std::vector<TrainingCase>& cases() const { return folds_ ? folds_->cases() : cases_; }
  // Logarithm of predicted over measured time of cases()[i].
  double error(std::size_t i) const;
  // The constants that judge the rows of a source.
  const ConstantTable& without(const std::string& source) const;

 private:
  std::vector<TrainingCase> cases_;
  ConstantTable committed_;
  std::optional<TrainingFolds> folds_;
};

struct TrainingChoice {
  std::string row, name;  // "iteration.csv:31", "bloom-1b3-exp fp16 on 8 v100_sxm_16gb, ..."
  TrainingRow like;       // its first row
  std::vector<LayoutPoint> points;
};

struct TrainingChoices {
  // The sets whose rows agree in all other settings, too: software, compilation, precision,
  // optimizer, loss. The points differ by their layouts alone.
  std::vector<TrainingChoice> alike;
  // The sets as they are defined above. Some compare two programs, or settings that no planner of
  // layouts chooses.
  std::vector<TrainingChoice> all;
};

// The questions of the rows of `training`, predicted by the constants that it holds for them.
TrainingChoices training_choices(const FittedTrainingRows& training);

}  // namespace orrery
