// Surfaces of kernels that were timed as eager PyTorch launches them: framework `pytorch`.
//
// Tables (data/training/neusight_kernels; fp32): linear (family gemm), bmm (batched_gemm), softmax,
// ln and elementwise (row_kernels). A time there is that between two events around one launch:
//
//   time = max(host, kernel + kLaunch)
//
// host: what the CPU takes to launch, 14 to 65 us by device and op; kernel: the GPU's part. Rows
// near the fastest of their op tell the host's speed alone and are not read; from the others
// kLaunch is taken away, and what remains is fitted like a graph-replayed call, with a floor of
// kKernelFloor. So the surfaces give what a kernel takes in a stream that the host keeps filled.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/fit.h"

namespace orrery {

// The catalog's name of a GPU of data/training ("v100_pcie_32gb" is v100-32g-pcie); itself if it is
// not known to differ.
std::string eager_gpu_name(std::string_view name);

// Whether `dir` holds such tables.
bool has_eager_tables(const std::filesystem::path& dir);

// Adds rows and files of the families (of one if `only` is not empty) to `fit`.
void fit_eager(const std::filesystem::path& dir, const std::string& only, const std::string& date,
               const Bundle& bundle, KernelFit& fit);

}  // namespace orrery
