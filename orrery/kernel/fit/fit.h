// `orrery fit kernels`: efficiency surfaces from measured tables.
//
// The fit makes a surface for every class of a family on each GPU (class_fit.h). About 15 % of the
// shapes are left out of it (samples.h): single points of the grids of the sweeps. The errors that
// are printed and stored (`own`, `shared`) are those on the rows left out.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
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
  // Paths below catalog/ and bytes of the files: "kernels/gemm/vllm-h100-sxm.txt.gz".
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> refused;  // absent tables, systems that the catalog does not know
};

// The errors of a surface on the points left out, without the names of the row. Sets `own`,
// `shared` and `regimes` of the surface. `file`: the file that the surface will be in.
KernelFitRow judge_surface(const SurfaceFile& file, Surface& s,
                           const std::vector<MeasuredPoint>& points);

// Fits all families, or the family `only` if it is not empty, on the rows of all GPUs, or of those
// with an id in `gpus` if it is not empty. `dir`: a folder of kernel tables, of NeuSight's tables
// (eager_fit.h) or of a sweep; elementwise work is fitted on dir/../layers. `date` goes into the
// recipe in the files. A kind of tables is a part of `meter`, which may be null.
KernelFit fit_kernels(const std::filesystem::path& dir, const std::string& only,
                      const std::string& date, const Bundle& bundle,
                      const std::set<std::string>& gpus = {}, PartMeter* meter = nullptr);

}  // namespace orrery
