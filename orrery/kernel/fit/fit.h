// `orrery fit kernels`: efficiency surfaces from measured tables.
//
// A surface for every class of a family on each GPU (class_fit.h), files in parallel.
//
// About 15 % of the shapes are left out (samples.h): single points of the sweeps' grids. The errors
// printed, and the `own` and `shared` errors stored, are those on the rows left out.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {

struct KernelFitRow {  // one class on one GPU
  std::string family, framework, gpu, kernel_class;
  std::size_t fitted = 0, left_out = 0;
  double mape = 0, median = 0, bias = 0;  // percent, on the rows left out
};

// "1876 rows, 183 left out: mape 6.8, median 4.0, bias +1.3 %".
std::string to_text(const KernelFitRow& row);

struct KernelFit {
  std::vector<KernelFitRow> rows;
  // Texts to be written below catalog/: "kernels/gemm/vllm-h100-sxm.txt".
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string>
      refused;  // tables that are absent, systems that the catalog does not know
};

// Errors on the points left out; sets the surface's `own`, `shared` and `regimes`. Names are not
// filled in. `file`: the file that the surface is to be put in.
KernelFitRow judge_surface(const SurfaceFile& file, Surface& s,
                           const std::vector<MeasuredPoint>& points);

// `dir`: tables in the layout of data/kernels or of data/training/neusight_kernels (eager_fit.h);
// elementwise work is fitted on dir/../layers.
// `only`: of one family; empty: of all. `date` goes into the recipe. `gpus`: only on rows of these
// ids; empty: of all.
KernelFit fit_kernels(const std::filesystem::path& dir, const std::string& only,
                      const std::string& date, const Bundle& bundle,
                      const std::set<std::string>& gpus = {});

}  // namespace orrery
