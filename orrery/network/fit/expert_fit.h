// Fits the curves of expert_exchange.h by least squares of the relative error of
//
//   T = start + bytes / rate,
//
// which is linear in the start and the inverse rate.
//
//   Within a node   kernels/collective_ep.csv.gz of the measured data (8 ranks). All low-latency
//                   rows give one line. Normal rows give a rate for each number of multiprocessors:
//                   each_sm comes from the smallest number, the share from the largest.
//   Between nodes   network/measured.csv: DeepEP's low-latency rows on several nodes, dispatch and
//                   combine in one fit. Its normal rows have no times; they check the result.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orrery/network/collectives/expert_exchange.h"
#include "orrery/network/fit/measured_collectives.h"

namespace orrery {

// A GPU on a fabric: where rows of exchanges were measured.
struct ExpertGroup {
  std::string fabric, gpu;  // ids
  auto operator<=>(const ExpertGroup&) const = default;
};

// Fits the curves of all fabrics; the keys are fabric ids. Rows of `without` are left out. `groups`
// receives those of all rows that were read.
std::map<std::string, std::vector<ExpertCurve>> fit_experts(const std::filesystem::path& data,
                                                            NodeOf& node_of,
                                                            const ExpertGroup& without,
                                                            std::set<ExpertGroup>& groups);

}  // namespace orrery
