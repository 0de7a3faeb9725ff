// Fits the constants of catalog/network to measured tables: `orrery fit network`.
//
// The tables lie in a folder of measured data (docs/data.md):
//   kernels/collective_nccl.csv.gz       NCCL within a node, 2, 4 and 8 ranks
//   kernels/collective_allreduce.csv.gz  the frameworks' all-reduce, rows of mode=graph
//   network/measured.csv                 RCCL on MI300X, send on NVSwitch, PCIe gen 5, racks, and
//                                        all-reduces on several nodes
//
// inside_fit.h has the fit within a node, across_fit.h that between nodes and expert_fit.h that of
// the exchange of experts. Everything is fitted once more without each group of rows, a GPU on a
// fabric with one library (network_folds.h); the errors of groups that were left out are those of
// servers that nobody measured (unseen_servers.h). The fit is deterministic.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/network/fit/across_fit.h"

namespace orrery {

struct NetworkFit {
  // The texts of the files, by path below catalog/ ("network/nvlink4-nvswitch.yaml").
  std::map<std::string, std::string> files;
  std::vector<KeptBackGroup> kept_back;
  LibraryCurve most;  // the factors around which most networks lie (across_fit.h)
};

// Fits all constants. A group that is left out in turn is a part of `meter`, which may be null.
// InputError: a table is missing or malformed.
NetworkFit fit_network(const std::filesystem::path& data, const Bundle& bundle,
                       PartMeter* meter = nullptr);

}  // namespace orrery
