// Training constants fitted without each source in turn (leave one source out): what judges the
// constants, and what says how wide their intervals must be.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/validate/fit/fit_training.h"

namespace orrery {

class TrainingFolds {
 public:
  // Fits as often as there are sources.
  explicit TrainingFolds(std::vector<TrainingCase> cases);

  const std::vector<TrainingCase>& cases() const { return cases_; }
  // Of cases()[i]: log of predicted over measured, by constants fitted without its source.
  double error(std::size_t i) const { return errors_[i]; }
  // The constants without a source: the priors if it is the only one, all rows' if it has none.
  const ConstantTable& without(const std::string& source) const;
  const ConstantTable& all() const { return all_; }
  // Whether another source has complete rows of the row's GPU and number format.
  bool covered(const TrainingRow& row) const;

 private:
  // Errors of iterations in a table: those that hold nine tenths of the left-out complete rows of
  // other sources than `source`, apart by what their fold knew (FitCover), and what mixtures and
  // adapters add. A source of n rows in such a group weighs
  // as in the fit (FitSettings::crowd).
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
  // Percent, of complete rows: by the fit on all, and with the row's source left out.
  double median = 0, mape = 0, median_left_out = 0, mape_left_out = 0;
};

// `dir`: data/training. `date` is written into the recipe.
FittedTraining fit_training(const std::filesystem::path& dir, const std::string& date,
                            const Bundle& bundle);

}  // namespace orrery
