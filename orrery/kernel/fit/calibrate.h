// Calibration files (calibration.h) from measured calls of one GPU, and the choice of the calls to
// measure, for `orrery fit points` and `orrery validate kernels --points`.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/tier_choice.h"

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

// Calibrates one family on a GPU with its measured calls. Classes with a sweep on this GPU are
// refused, because a few points cannot improve them. If a class has more than
// kMostCalibrationPoints calls, those with the smallest hashes of their shapes are used.
PointFit calibrate(const KernelFamily& family, const KernelGpu& gpu,
                   const std::vector<MeasuredCall>& calls, const Bundle& bundle,
                   TierChoice tier = TierChoice::kBest);

// Most candidates of a class that are looked at; of more, those with the smallest hashes.
inline constexpr std::size_t kMostCandidates = 1500;

// The calls of `candidates`, of one family, that are worth measuring on `gpu`: `count` of each
// class and framework (point_choice.h). Indices in the order of the classes.
std::vector<std::size_t> calls_to_measure(const KernelFamily& family, const KernelGpu& gpu,
                                          const std::vector<KernelSample>& candidates,
                                          std::size_t count, const Bundle& bundle,
                                          TierChoice tier = TierChoice::kBest);

// Reads a table with the columns of the measured kernel tables (docs/data.md); the columns tell the
// family. These columns may be absent, and then have the value in parentheses: system (ignored),
// framework (`framework`, else vllm), kernel_source and version (empty), kv_dtype (that of the
// arithmetic), window and past (0), tp and ep (1), distribution (balanced), table and tp_size of
// mla_kernel (by phase, 1). InputError: no family has these columns, or a row is no call of the
// family.
PointFit calibrate_from(const std::filesystem::path& table, const Gpu& gpu,
                        const std::string& framework, const Bundle& bundle);

// The rows of a table of candidates (the same columns; latency_us may be absent and is not read)
// that are worth measuring, `count` of each class, as a table with the same header.
std::string table_to_measure(const std::filesystem::path& candidates, const Gpu& gpu,
                             const std::string& framework, std::size_t count, const Bundle& bundle);

}  // namespace orrery
