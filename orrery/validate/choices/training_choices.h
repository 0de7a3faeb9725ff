// Which layout trains fastest: the questions that measured iterations answer.
//
// A question is a set of complete rows of training/iteration.csv with one source, version, model,
// GPU, number of GPUs, sequence, global batch and number format, and with two or more layouts. A
// layout is what a planner chooses: the parallel sizes, the sharding and schedule, the micro batch
// and what is recomputed or offloaded. The times of several rows of one layout are averaged.
//
// The score of a layout is iterations per second; nothing limits it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/choices/regret.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {

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

// The questions of `dir` (data/training), predicted by constants that were fitted without the rows'
// source, or by those of the catalog. Rows that cannot be predicted go to `refused`.
TrainingChoices training_choices(const std::filesystem::path& dir, const Bundle& bundle,
                                 ConstantsChoice constants, std::vector<RefusedRow>& refused);

}  // namespace orrery
