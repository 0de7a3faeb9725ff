// How well surfaces carry over between GPUs: each measured GPU in turn is predicted from its
// relatives, as if it had no sweep of its own. The errors of transfer.cc are set from this.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery {

// All classes of a family on one GPU that one relative serves.
struct TransferRow {
  std::string family, gpu, relative;
  double distance = 0;                    // of the two GPUs (transfer.h)
  std::size_t classes = 0;                // frameworks apart
  std::size_t rows = 0;                   // measured calls that no fit used
  double mape = 0, median = 0, bias = 0;  // percent of the measured time, over rows
  double shared = 0;                      // root mean square over classes of the median log error
  double own = 0;  // mean over classes: 0.9-quantile of the rest over that of a standard normal
};

// `dir`: tables in the layout of data/kernels; the surfaces are those of the catalog. `family`:
// empty for all. Only rows that are left out of fits count. `refused`: as in fit_kernels.
std::vector<TransferRow> transfer_report(const std::filesystem::path& dir,
                                         const std::string& family, const Bundle& bundle,
                                         std::vector<std::string>& refused);

}  // namespace orrery
