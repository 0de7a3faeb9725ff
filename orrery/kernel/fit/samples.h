// Measured tables as points of a family's surfaces, for fits and for the judgement of fits.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {

// One measured call: its place on the grid, its physics on the GPU that it was measured on, and its
// time.
struct MeasuredPoint : SurfacePlace {
  double base, least, time;  // seconds
  bool left_out;             // the fit does not use it
};

struct ClassSamples {
  std::vector<MeasuredPoint> points;
  std::set<std::string> versions;  // of the framework
  // Number of rows faster than kImpossible times their `least`, which are not among the points.
  std::size_t impossible = 0;
};

// Share of its lower bound below which a measured time is impossible: the call did not do all of
// its work (decode attention of TensorRT-LLM 1.0 on A100: up to 1.7 times the memory bandwidth).
// The margin is for clocks above the data sheet's.
inline constexpr double kImpossible = 0.95;

// True if the fit leaves the row out: about 15 % of the shapes (KernelSample::shape), the same on
// every GPU, framework and number format. They are single points of the grids of the sweeps, so
// that their neighbours are usually fitted.
bool is_left_out(const KernelSample& sample);

// The file of a table in `dir`: "gemm.csv.gz" or "gemm.csv"; nothing if there is neither.
std::optional<std::filesystem::path> table_file(const std::filesystem::path& dir,
                                                std::string_view table);

// The points of a family, by framework and GPU id, then by kernel class.
using FamilySamples =
    std::map<std::pair<std::string, std::string>, std::map<std::string, ClassSamples>>;

// Reads the tables of a family in `dir`. Absent tables and systems that the catalog does not know
// are added to `refused`. `gpus`: ids of the GPUs whose rows are read; empty: all.
FamilySamples read_samples(const std::filesystem::path& dir, const KernelTables& tables,
                           const Catalog& catalog, std::vector<std::string>& refused,
                           const std::set<std::string>& gpus = {});

}  // namespace orrery
