// The models of training/models.csv as Architectures.
//
// The table has dimensions. Norms, biases, activation and positions follow from the family of the
// model: families that descend from GPT have layer norms with biases and GELU, MPT has layer norms
// without biases, families that descend from LLaMA have RMS norms and SiLU gates. A model without
// dimensions is taken from catalog/models.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

class TrainingModels {
 public:
  // Reads the file models.csv of the folder `dir`.
  explicit TrainingModels(const std::filesystem::path& dir, const Bundle& bundle = Bundle());

  // Throws NoData if neither the table nor the catalog has the dimensions of the model.
  const Architecture& at(const std::string& name) const;

 private:
  std::map<std::string, Architecture> models_;
  std::map<std::string, std::string> missing_;  // reasons, by model
};

}  // namespace orrery
