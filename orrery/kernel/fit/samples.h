// Measured tables as points of a family's surfaces: what the fit and its checks read.
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
#include "orrery/kernel/families/family.h"

namespace orrery {

// One measured call: where it is on the grid, its physics on the GPU that it was measured on, and
// its time, in seconds.
struct MeasuredPoint : SurfacePlace {
  double base, least, time;
  bool left_out;  // of the fit
};

struct ClassSamples {
  std::vector<MeasuredPoint> points;
  std::set<std::string> versions;  // of the framework
  std::size_t impossible =
      0;  // rows faster than their `least` by more than kImpossible: not among the points
};

// A timed call that does not do all of its work (TRT-LLM 1.0 decode attention on A100: up to 1.7
// times the memory bandwidth) must teach nothing. The margin is for clocks above the data sheet's.
inline constexpr double kImpossible = 0.95;

// Whether the fit leaves a row out: about 15 % of the shapes (KernelSample::shape), the same on
// every GPU, framework and number format. Single points of the sweeps' grids, so that their
// neighbours are usually there, as in data/kernels itself.
bool is_left_out(const KernelSample& sample);

// The table's file in `dir`: "gemm.csv.gz" or "gemm.csv"; nothing if there is neither.
std::optional<std::filesystem::path> table_file(const std::filesystem::path& dir,
                                                std::string_view table);

// All points of a family by framework and GPU id, then by kernel class.
using FamilySamples =
    std::map<std::pair<std::string, std::string>, std::map<std::string, ClassSamples>>;

// `dir`: tables in the layout of data/kernels. Absent tables and systems that the catalog does not
// know are added to `refused`. `gpus`: only rows of these ids; empty: of all.
FamilySamples read_samples(const std::filesystem::path& dir, const KernelFamily& family,
                           const Catalog& catalog, std::vector<std::string>& refused,
                           const std::set<std::string>& gpus = {});

}  // namespace orrery
