// Training constants fitted without each source in turn. The errors of the left-out rows judge the
// constants and decide the width of their intervals.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/part_meter.h"
#include "orrery/validate/fit/fit_training.h"

namespace orrery {

class TrainingFolds {
 public:
  // Fits once for each source.
  // A fit is a part of `meter`, which may be null.
  explicit TrainingFolds(std::vector<TrainingCase> cases, PartMeter* meter = nullptr);

  const std::vector<TrainingCase>& cases() const { return cases_; }
  // Logarithm of predicted over measured time of cases()[i], by constants fitted without its
  // source.
  double error(std::size_t i) const { return errors_[i]; }
  // The constants fitted without `source`: the priors if it is the only source, those of all rows
  // if it has no rows.
  const ConstantTable& without(const std::string& source) const;
  const ConstantTable& all() const { return all_; }
  // Whether another source has complete rows of the row's GPU and number format.
  bool covered(const TrainingRow& row) const;

 private:
  // Sets the errors of iterations in a table: the smallest whose 90 % intervals hold nine tenths of
  // the left-out complete rows of sources other than `source`. They are separate for what the fold
  // knew of a row (FitCover), and mixtures of experts and adapters add to them. A source of n rows
  // in such a group weighs as in the fit (FitSettings::crowd).
  void set_errors(ConstantTable& table, std::string_view source) const;

  std::vector<TrainingCase> cases_;
  std::vector<double> errors_;
  std::map<std::string, ConstantTable> without_;
  ConstantTable all_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> covering_;
};

struct FittedTraining {
  std::string yaml;  // text of catalog/training/constants.yaml
  std::size_t rows = 0, sources = 0;
  // Errors of complete rows in percent, by the fit on all rows and by the fit without the row's
  // source.
  double median = 0, mape = 0, median_left_out = 0, mape_left_out = 0;
};

// Fits the rows of `dir` (data/training). `date` is written into the recipe. A fit is a part of
// `meter`, which may be null.
FittedTraining fit_training(const std::filesystem::path& dir, const std::string& date,
                            const Bundle& bundle, PartMeter* meter = nullptr);

}  // namespace orrery
