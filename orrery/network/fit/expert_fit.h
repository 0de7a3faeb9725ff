// Fits the curves of expert_exchange.h, by least squares of the relative error, which is linear in
// the start and the inverse rate.
//
//   within a node   data/kernels/collective_ep.csv.gz (8 ranks): low latency at once; normal
//   kernels a
//                   rate for each number of SMs: each_sm from the least, the share from the most
//   between nodes   data/network/measured.csv: DeepEP's low-latency rows of several nodes, dispatch
//   and
//                   combine together; its normal rows have no times and check
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// Curves by fabric id.
std::map<std::string, std::vector<ExpertCurve>> fit_experts(const std::filesystem::path& data,
                                                            NodeOf& node_of);

}  // namespace orrery
