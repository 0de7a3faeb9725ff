// Makes the files of catalog/network from measured tables: `orrery fit network`.
//
// Data (a folder in the layout of ../shared/data):
//   kernels/collective_nccl.csv.gz       NCCL inside a node, 2, 4 and 8 ranks
//   kernels/collective_allreduce.csv.gz  the frameworks' all-reduce, rows of mode=graph
//   network/measured.csv                 RCCL on MI300X, send on NVSwitch, PCIe gen 5, racks, and
//                                        all-reduces over several nodes
//
// Recipe, inside a node: for each fabric and stack the constants of its curves minimise the Huber
// loss (0.1) of ln(predicted/measured), predicted being the fastest of the algorithms, as the model
// chooses; Sbplx from fixed starts. Which sizes of message are left out in turn: every third; the
// error of a curve is that of those rows. Over several nodes: across_fit.h. Deterministic.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/network/fit/across_fit.h"

namespace orrery {

struct NetworkFit {
  // File name below catalog/ ("network/nvlink4-nvswitch.yaml") to its text.
  std::map<std::string, std::string> files;
  std::vector<KeptBackGroup> kept_back;
  LibraryCurve most;  // what most networks have (across_fit.h)
};

// InputError: a table is missing or malformed.
NetworkFit fit_network(const std::filesystem::path& data, const Bundle& bundle);

}  // namespace orrery
