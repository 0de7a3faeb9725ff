// The areas of `orrery validate`. An area is a folder of measured tables with what predicts them;
// it is validated by itself or as part of one report of all areas.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/validate/judge/kernels.h"
#include "orrery/validate/report/accuracy.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct ValidationArea {
  const char* name;
  const char* folder;  // below the folder of measured tables; empty: that folder itself
  const char* needs;   // the path below that folder without which the area has no data
  bool left_out;       // its rows are predicted by constants fitted without them (ConstantsChoice)
  const char* about;   // its rows, and which of them the predictions were fitted on, in sentences
};
// All areas, in the order of the report.
std::span<const ValidationArea> validation_areas();
// The area of that name. InputError with the nearest name if there is none.
const ValidationArea& validation_area(const std::string& name);

// The rows of an area other than kernels, training and planner, which have reports of their own.
// `dir`: its folder. `table`: the only table that is wanted; empty: all.
ValidationReport judged_rows(const ValidationArea& area, const std::filesystem::path& dir,
                             const std::string& table, const Bundle& bundle,
                             ConstantsChoice constants);

using EachRow = std::function<void(const ValidationRow&)>;

struct AreaNotes {
  std::vector<RefusedRow> refused;
  std::vector<std::string> remarks;
};

// Validates one area on its folder `dir` and passes every row to `each`, with the question, the
// source and the predictions of other tools where there are any. `kernels` holds the options of the
// area kernels; its `table` names the only table that is wanted of any area (empty: all).
AreaNotes validate_area(const ValidationArea& area, const std::filesystem::path& dir,
                        const KernelValidation& kernels, const Bundle& bundle,
                        ConstantsChoice constants, const EachRow& each);

AccuracyArea accuracy_of(const ValidationArea& area, const std::filesystem::path& dir,
                         const KernelValidation& kernels, const Bundle& bundle,
                         ConstantsChoice constants = ConstantsChoice::kLeftOut);

// Calls `run` once for every area that has data below `data`, several at a time. `dir` is the
// area's folder and `index` its place in validation_areas(). If calls of `run` throw, the exception
// of the first such area in that order is thrown. An area is a part of `meter`, which may be null.
// InputError: no area has data.
void for_each_area(const std::filesystem::path& data,
                   const std::function<void(const ValidationArea&, const std::filesystem::path& dir,
                                            std::size_t index)>& run,
                   PartMeter* meter = nullptr);

// The reports of all areas. An area without data has a remark that says so. The result does not
// depend on the number of threads.
std::vector<AccuracyArea> validate_all(const std::filesystem::path& data, const Bundle& bundle,
                                       ConstantsChoice constants = ConstantsChoice::kLeftOut,
                                       PartMeter* meter = nullptr);

}  // namespace orrery
