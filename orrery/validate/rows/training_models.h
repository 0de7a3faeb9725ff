// The models of training/models.csv as Architectures.
//
// The table has dimensions; what it leaves out (norms, biases, activation, positions) is the
// family's: GPT and its kin have layer norms with biases and GELU, MPT layer norms without, LLaMA's
// kin RMS norms and SiLU gates. Models without dimensions are those of catalog/models where it has
// them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/model/architecture.h"

namespace orrery {

class TrainingModels {
 public:
  // Reads `dir`/models.csv.
  explicit TrainingModels(const std::filesystem::path& dir, const Bundle& bundle = Bundle());

  // NoData if the table does not have the model or not its dimensions, and the catalog neither.
  const Architecture& at(const std::string& name) const;

 private:
  std::map<std::string, Architecture> models_;
  std::map<std::string, std::string> missing_;  // model: why
};

}  // namespace orrery
