// `orrery validate network`: collectives against measured times.
//
// `dir`: data (network/ and kernels/ below it), or either folder itself.
//   measured          network/measured.csv: rows with a size and a time; of DeepEP those with a
//   time,
//                     and those with a bandwidth alone by their bandwidth
//   collective_nccl   kernels/collective_nccl.csv.gz: rows of framework nccl
// `table`: only this one.
//
// Rows of sources that call through PyTorch (README of data/network) are judged with the stack
// "pytorch", VIDUR's of H100 and its sends with "pytorch-loop": they show the kernel's time or a
// launch of the other rank's, not both, while those of A100 are 17 us above it at every size. The
// tuning's ALGO, PROTO and NVLS are forced as they were. Integer sums have no in-network reduction.
// The smaller of the times out of place and in place is the measured one.
//
// `by` of a row: table (who predicts), metric (class of size), fabric (the table's spelling),
// collective. Every row is there up to three times:
//   orrery       this program
//   alpha-beta   a ring by the data sheet: hops * latency + volume / nominal bandwidth
//   astra-sim    network/astra_sim.csv, one switch of 8 NPUs (400 GB/s), interpolated between its
//                sizes: for 8 H100 or H200 on NVSwitch alone
#pragma once

#include <filesystem>

#include "orrery/base/bundle.h"
#include "orrery/validate/report/report.h"

namespace orrery {

ValidationReport validate_network(const std::filesystem::path& dir, const std::string& table,
                                  const Bundle& bundle);

}  // namespace orrery
