// Floor and efficiencies of memory-bound kernels: one surface of two nodes for every GPU and
// framework, or, from a sweep of a user's GPU (sweep_rows.h), one of its own for each class.
//
// The least mean |log(predicted / measured)| over two thirds of the sizes (by hash), all sources
// counting alike:
// - data/layers/layers.csv.gz: norms, activation, rotary embedding and residual add of vLLM 0.19 on
//   RTX 4090 and RTX PRO 6000. Embedding lookups are not used: they gather the same few tokens
//   again.
// - data/kernels/quantize.csv.gz: static quantisation of activations beyond the L2
// (elementwise_fit.cc). vidur's rows of layers.csv.gz (A100, A40, H100; separate fp16 kernels of
// 2023) only check the fit: all are left out, and those below 10 us, which are timer and launch,
// are not read.
//
// The errors stored are 0.9-quantiles over the fitted sources: of the absolute median log error
// (shared), and of the spread around it (own).
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/fit.h"

namespace orrery {

// Adds the rows by source and GPU, and the file, to `fit`. `dir`: data/kernels, beside data/layers
// (absent tables are refused), or what a sweep left.
void fit_elementwise(const std::filesystem::path& dir, const std::string& date,
                     const Bundle& bundle, KernelFit& fit);
void fit_swept_elementwise(const std::filesystem::path& dir, const std::string& date,
                           const Bundle& bundle, const std::set<std::string>& gpus, KernelFit& fit);

}  // namespace orrery
