// `orrery validate kernels`: kernel times against measured tables.
//
// Any folder in the layout of data/kernels, of any GPUs that the catalog knows. A row is judged for
// operands as it was measured (a repeated call, warm where it fits the L2). Rows are streamed: five
// million take well under a minute and are not kept.
//
// Which rows judge:
//   left-out   those that the fit of catalog/kernels leaves out (samples.h): for the folder that it
//              was fitted on
//   all        every row: for tables that no fit has seen, and for GPUs that fit_on leaves out
//
// Refused rows (unknown system, impossible or unserved rows) are gathered by reason.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

// Which tier predicts; rows that it does not serve are refused. kBest: the strongest that each has.
enum class JudgedTier { kBest, kMeasured, kTransferred, kAnalytical };
std::optional<JudgedTier> parse_judged_tier(std::string_view text);  // "best", "measured", ...

struct KernelValidation {
  std::string table{};  // empty: all that a family is fitted on
  JudgedTier tier = JudgedTier::kBest;
  // The cross-generation protocol: surfaces are fitted again, on the folder's rows of these systems
  // alone (ids or the tables' names), and rows of all other systems judge. A system without rows in
  // the folder keeps its surfaces of the catalog.
  std::vector<std::string> fit_on{};
  std::optional<bool> all_rows{};  // default: with fit_on all, otherwise those left out
  // So many of the rows of each kernel class and GPU, drawn by a hash of the shape, calibrate it
  // (calibration.h); the others judge. At most kMostCalibrationPoints.
  std::size_t points = 0;
};

// `each`: called for every row that judges, where not null; kernel_row_keys() names the keys of its
// `by`. InputError: no such folder, no table, a system that the catalog does not know.
ErrorReport validate_kernels(const std::filesystem::path& dir, const KernelValidation& options,
                             const Bundle& bundle,
                             const std::function<void(const ValidationRow&)>& each = {});

const std::set<std::string>& kernel_row_keys();

}  // namespace orrery
