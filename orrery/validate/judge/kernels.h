// `orrery validate kernels`: kernel times against measured tables.
//
// The folder has the layout of data/kernels and may hold any GPUs of the catalog. The tables were
// measured by repeated calls, whose operands stay in the L2 cache where they fit; the predictions
// assume the same. Rows are streamed and not kept; five million take less than a minute.
//
// The judging rows are one of
//   left-out   the rows that the fit of catalog/kernels leaves out (samples.h), for the folder that
//              was fitted on
//   all        every row, for tables that no fit has seen and for GPUs that fit_on leaves out
//
// Refused rows (unknown system, impossible times, calls that no model serves) are counted by
// reason.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// The tier that predicts. Rows that it does not serve are refused. kBest is the strongest tier that
// serves the row.
enum class JudgedTier { kBest, kMeasured, kTransferred, kAnalytical };
std::optional<JudgedTier> parse_judged_tier(std::string_view text);  // "best", "measured", ...

struct KernelValidation {
  std::string table{};  // the only table; empty: every table that a kernel family is fitted on
  JudgedTier tier = JudgedTier::kBest;
  // Systems for the cross-generation protocol (ids, or the tables' names). The surfaces are fitted
  // again on the folder's rows of these systems alone, and the rows of all other systems judge. A
  // system without rows in the folder keeps its surfaces of the catalog.
  std::vector<std::string> fit_on{};
  // A GPU (id, or the tables' name) whose rows alone judge, all of them, by surfaces of other GPUs:
  // no file of the GPU itself is used. Physics predicts what no surface of another GPU serves. The
  // tier must then be kBest and fit_on empty. The fit of a GPU of the same generation has read rows
  // of this one (attention's trees): fit_on leaves those out, too.
  std::string left_out_gpu{};
  // Every row judges, those too that the catalog's surfaces were fitted on. It excludes the fits of
  // fit_on, left_out_gpu and points, and all_rows false.
  bool committed = false;
  std::optional<bool> all_rows{};  // absent: all rows with fit_on, left-out rows otherwise
  // Number of rows of each kernel class and GPU that calibrate the class (calibration.h), chosen as
  // calls_to_measure (calibrate.h) chooses, before their times are looked at, of kMostCandidates
  // rows of the class. The other rows judge. At most kMostCalibrationPoints.
  std::size_t points = 0;
};

// Calls `each`, unless it is null, for every judging row; kernel_row_keys() lists the keys of the
// row's `by`. InputError: no such folder, no table, or a system that the catalog does not have.
ErrorReport validate_kernels(const std::filesystem::path& dir, const KernelValidation& options,
                             const Bundle& bundle,
                             const std::function<void(const ValidationRow&)>& each = {});

const std::set<std::string>& kernel_row_keys();

}  // namespace orrery
