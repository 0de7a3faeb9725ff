// `orrery validate planner`: choices among measured layouts, by prediction.
//
//   table serving            the layouts of a model on a GPU in one engine, for six limits of TPOT
//                            (serving_choices.h). Predicted by constants that were fitted without
//                            the model on that GPU.
//   table serving, shared    the same among the points that AIConfigurator predicts, too; its
//                            choices are scored by the same rule
//   table training           layouts of one job (training_choices.h), by constants fitted without
//                            the source; all other settings are equal
//   table training, mixed    the same with layouts that ran in other software or settings
//   table cases              questions with a published best layout (published_cases.h). `measured`
//                            is the best predicted score, `predicted` that of the published layout;
//                            training's constants are fitted without its source
//
// A row is one question. Its `measured` is the best measured score and its `predicted` the measured
// score of what was chosen, so that the error of a row, in percent, is the regret of the choice,
// 1 - score / best. Serving's score is output tokens/s per GPU, training's is iterations/s.
//
// Metrics of serving:
//   layout      the layout of the chosen point (regret.h). It scores what its best point brings
//               that keeps the limit when measured; 0 if none does.
//   point       the same choice, which scores what the chosen point itself brings; 0 if it breaks
//               the limit when measured
// A limit that no measured point keeps is no question.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct PlannerValidation {
  ValidationReport report;
  // Mean regret and the share of good choices of each table and metric, a sentence each.
  std::vector<std::string> remarks;
};

// `dir` is the folder of all measured tables, with its folders inference and training. `table`: the
// only table wanted ("serving" has both of serving, "training" both of training, "cases"); empty:
// all.
// InputError: another table. Absent tables are noted as skipped.
PlannerValidation validate_planner(const std::filesystem::path& dir, const std::string& table,
                                   const Bundle& bundle,
                                   ConstantsChoice constants = ConstantsChoice::kLeftOut);

}  // namespace orrery
