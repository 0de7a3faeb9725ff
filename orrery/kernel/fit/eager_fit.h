// Fits surfaces of kernels that were timed as eager PyTorch launches them (framework `pytorch`).
//
// The tables are those of NeuSight (docs/data.md), in fp32: linear (family gemm), bmm
// (batched_gemm), softmax, ln and elementwise (row_kernels). Their times are those between two
// events around one launch:
//
//   time = max(host, kernel + kLaunch)
//
// `host` is the time of the CPU to launch, 14 to 65 us by device and op; `kernel` is the time of
// the GPU. Rows near the fastest of their op show the speed of the host alone and are not read.
// From the others kLaunch is subtracted, and the remainder is fitted like a graph-replayed call
// with a floor of kKernelFloor. The surfaces thus give the time of a kernel in a stream that the
// host keeps filled.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/fit.h"

namespace orrery {

// The catalog's name of a GPU of these tables: v100-32g-pcie for "v100_pcie_32gb". A name that is
// not known to differ is returned as it is.
std::string eager_gpu_name(std::string_view name);

// True if `dir` has such tables.
bool has_eager_tables(const std::filesystem::path& dir);

// Adds the rows and files of all these families to `fit`, or of the family `only` if it is not
// empty.
void fit_eager(const std::filesystem::path& dir, const std::string& only, const std::string& date,
               const Bundle& bundle, KernelFit& fit);

}  // namespace orrery
