// The question that a measured training row asks.
#pragma once

#include <map>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/hardware/catalog.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {

// The row's job in words: "llama-3-8b bf16 on 64 h100-sxm of hgx-h100, fsdp, dp 64, seq 8192, ...".
std::string words_of(const TrainingRow& row);

class TrainingScenarios {
 public:
  explicit TrainingScenarios(const Bundle& bundle) : bundle_(bundle), catalog_(bundle) {}

  // The scenario whose answer is the prediction of the row, on one line; else the row's words and
  // the reason why no scenario asks for it. A scenario is read back and its job compared with the
  // row's before it is returned.
  std::string question(const TrainingRow& row) { return asked(row, true); }
  // The same about the row's memory, which is that of a rank on any node.
  std::string memory_question(const TrainingRow& row) { return asked(row, false); }

 private:
  // The value of `model` that means the model: a name of the catalog, or the text of a config.json;
  // empty: there is neither.
  const std::string& name_of(const Architecture& model);
  std::string asked(const TrainingRow& row, bool of_time);
  std::string written(const TrainingRow& row, bool of_time);  // NoData: the reason

  const Bundle& bundle_;
  Catalog catalog_;
  std::map<std::string, std::string> models_;  // name_of by the table's name
};

}  // namespace orrery
