// The areas of `orrery validate`: each by itself, or all of them as one report.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/judge/kernels.h"
#include "orrery/validate/report/accuracy.h"
#include "orrery/validate/report/report.h"

namespace orrery {

struct ValidationArea {
  const char* name;
  const char* folder;  // below the shared data; empty: all of it
  const char* needs;   // a path below the shared data without which there is nothing to validate
  const char* about;   // what its rows are and what the predictions know of them, in sentences
};
// In the order of the report.
std::span<const ValidationArea> validation_areas();
// InputError naming the nearest.
const ValidationArea& validation_area(const std::string& name);

using EachRow = std::function<void(const ValidationRow&)>;

struct AreaNotes {
  std::vector<RefusedRow> refused;
  std::vector<std::string> remarks;
};

// Validates one area on `dir` (the area's folder): every row goes to `each`, with its question, its
// source and its peers where there are any. `kernels`: of that area; its `table` is the one wanted
// of any area.
AreaNotes validate_area(const ValidationArea& area, const std::filesystem::path& dir,
                        const KernelValidation& kernels, const Bundle& bundle, const EachRow& each);

AccuracyArea accuracy_of(const ValidationArea& area, const std::filesystem::path& dir,
                         const KernelValidation& kernels, const Bundle& bundle);

// Calls `run` once for every area that has data below `data`, several at a time; `dir`: the area's
// folder, `index`: its place in validation_areas(). What `run` throws is thrown again, of the first
// area that did. InputError: no area has data.
void for_each_area(const std::filesystem::path& data,
                   const std::function<void(const ValidationArea&, const std::filesystem::path& dir,
                                            std::size_t index)>& run);

// Every area; those without data say so. The same on any number of threads.
std::vector<AccuracyArea> validate_all(const std::filesystem::path& data, const Bundle& bundle);

}  // namespace orrery
