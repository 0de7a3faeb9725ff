// Fits the constants of catalog/network to measured tables: `orrery fit network`.
//
// The tables lie in a folder of measured data (docs/data.md):
//   kernels/collective_nccl.csv.gz       NCCL within a node, 2, 4 and 8 ranks
//   kernels/collective_allreduce.csv.gz  the frameworks' all-reduce, rows of mode=graph
//   network/measured.csv                 RCCL on MI300X, send on NVSwitch, PCIe gen 5, racks, and
//                                        all-reduces on several nodes
//
// Within a node, the constants of the curves of a fabric, stack and kind of collective minimise the
// Huber loss (0.1) of ln(predicted / measured), where the prediction is the fastest of the
// algorithms, as in the model. The search is Sbplx from fixed starts. Every third message size is
// left out in turn; the error of a curve is that of the rows left out. Between nodes, see
// across_fit.h. The fit is deterministic.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/network/fit/across_fit.h"

namespace orrery {

struct NetworkFit {
  // The texts of the files, by path below catalog/ ("network/nvlink4-nvswitch.yaml").
  std::map<std::string, std::string> files;
  std::vector<KeptBackGroup> kept_back;
  LibraryCurve most;  // the factors around which most networks lie (across_fit.h)
};

// Fits all constants. InputError: a table is missing or malformed.
NetworkFit fit_network(const std::filesystem::path& data, const Bundle& bundle);

}  // namespace orrery
