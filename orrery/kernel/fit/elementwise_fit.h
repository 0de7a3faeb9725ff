// Fits the floor and the efficiencies of memory-bound kernels: one surface of two nodes for every
// GPU and framework, or, from a sweep of a user's GPU (sweep_rows.h), a surface for each class.
//
// The fit takes the least mean |log(predicted / measured)| over two thirds of the sizes (chosen by
// a hash), with equal weights of the sources (docs/data.md describes both tables):
//
// - layers: norms, activation, rotary embedding and residual add of vLLM 0.19 on RTX 4090 and RTX
//   PRO 6000. Embedding look-ups are not used, because they gather the same few tokens repeatedly.
// - quantize: static quantisation of activations larger than the L2 (elementwise_fit.cc).
//
// The rows of VIDUR in the table of layers (A100, A40, H100; separate fp16 kernels of 2023) only
// check the fit: all of them are left out, and those below 10 us, which are timer and launch, are
// not read.
//
// The stored errors are 0.9-quantiles over the fitted sources: of the absolute median log error
// (shared), and of the spread around it (own).
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/fit.h"

namespace orrery {

// Add the rows by source and GPU, and the file, to `fit`. `dir`: the folder of the kernel tables,
// next to that of the layers (absent tables are refused), or the folder that a sweep wrote.
void fit_elementwise(const std::filesystem::path& dir, const std::string& date,
                     const Bundle& bundle, KernelFit& fit);
void fit_swept_elementwise(const std::filesystem::path& dir, const std::string& date,
                           const Bundle& bundle, const std::set<std::string>& gpus, KernelFit& fit);

}  // namespace orrery
