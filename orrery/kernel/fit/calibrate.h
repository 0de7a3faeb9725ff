// From measured calls of one GPU to calibration files (calibration.h): what `orrery fit points` and
// `orrery validate kernels --points` do.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/families/family.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

struct MeasuredCall {
  KernelSample sample;
  Seconds time;
};

struct CalibratedClass {
  std::string family, framework, kernel_class;
  std::size_t points = 0;
  double before = 0, after = 0;  // mean absolute error in percent, of each point from the others
};

struct PointFit {
  std::vector<CalibratedClass> classes;
  std::map<std::string, std::string> files;  // below a catalog directory
  std::vector<std::string> refused;
};

// Calls of one family on a GPU. Classes that the GPU has a sweep for are refused: nothing sharpens
// them. Of more than kMostCalibrationPoints calls of a class the first ones by a hash of the shape
// count.
PointFit calibrate(const KernelFamily& family, const KernelGpu& gpu,
                   const std::vector<MeasuredCall>& calls, const Bundle& bundle,
                   TierChoice tier = TierChoice::kBest);

// Reads a table in the columns of data/kernels; the family is found from the columns. Columns that
// say the same in every row may be absent: system (ignored), framework (`framework`, or vllm),
// kernel_source, version, kv_dtype (as the arithmetic's), window and past (0), tp and ep (1),
// distribution (balanced), table and tp_size of mla_kernel. InputError: no family has these
// columns, a row that is none of its calls.
PointFit calibrate_from(const std::filesystem::path& table, const Gpu& gpu,
                        const std::string& framework, const Bundle& bundle);

}  // namespace orrery
