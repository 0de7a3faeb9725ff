// `orrery validate network`: collectives against measured times.
//
// `dir` is data (with the folders network and kernels), or one of the two folders. The tables are
//   measured          network/measured.csv. Rows with a size and a time are judged by their time.
//                     DeepEP's rows with a bandwidth alone are judged by their bandwidth.
//   collective_nccl   kernels/collective_nccl.csv.gz, rows of the framework nccl.
// `table` names the only table; empty: both.
//
// Stacks. Rows of sources that call through PyTorch (README of data/network) are judged with the
// stack "pytorch". VIDUR's rows of H100 and all its sends are judged with "pytorch-loop", because
// they show either the kernel's time or the other rank's launch; its rows of A100 show both, 17 us
// more at every size.
//
// Settings. ALGO, PROTO and NVLS of a row's tuning are forced as they were. Sums of integers have
// no in-network reduction. The measured time is the smaller one of out of place and in place.
//
// `by` of a row holds table (the predictor), metric (a class of sizes), fabric (in the table's
// spelling) and collective, and `trusted: distrusted` if its group is faster than the wires of the
// machine that it names (wire_limit.h). The predictors of a row are
//   orrery       this program, with the constants of the catalog. The fit has seen the row
//   orrery left out  the same with constants that were fitted without the row's group, a GPU on a
//                fabric with one library (network_folds.h). `by` also holds `fitted`, which is "no"
//                if no fit has seen the group, and "yes" if the row is shorter than the loop of
//                launches of its stack, which was read off such rows; and `seen`: whether the
//                authors had the group in sight while they shaped the model (seen_groups.h). Not by
//                the committed constants
//   alpha-beta   a ring by the data sheet: hops * latency + volume / nominal bandwidth
//   astra-sim    network/astra_sim.csv for 8 H100 or H200 on NVSwitch: one switch of 8 NPUs
//                (400 GB/s), interpolated between its sizes
// ErrorReport pools each predictor by itself. The report's note has the errors of sends by GPU,
// predicted without their group, beside the rows of other GPUs (other_sends.h).
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/report/report.h"

namespace orrery {

ValidationReport validate_network(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle,
                                  ConstantsChoice constants = ConstantsChoice::kLeftOut);

}  // namespace orrery
