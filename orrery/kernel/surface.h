// Efficiency surfaces: what is fitted for one kernel class on one GPU, and its text form.
//
// A surface gives log(time without floor / base) on a tensor grid, multilinear between the nodes
// and constant beyond them: far outside the measured sizes the physics of `base` decides alone.
//
// catalog/kernels/<family>/<framework>-<gpu>.txt:
//   orrery-kernels 1
//   # recipe and errors, for people
//   axes 3 14 9 9                  number of axes and nodes of each
//   0 2 3 4 ...                    nodes, one line an axis
//   class bf16 floor 2.41 own 0.061 shared 0.02      floor in us; relative errors
//   -12 40 ...                     1000 * values, row-major, wrapped lines
//   class ...
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

struct SurfaceAxes {
  std::vector<std::vector<double>> nodes;
  std::size_t size() const;  // number of grid points
};

// Grid points and weights of the cell around x, clamped to the grid. 2^axes entries.
struct SurfaceCell {
  std::size_t count = 0;
  std::size_t index[16];
  double weight[16];
};
SurfaceCell cell_at(const SurfaceAxes& axes, std::span<const double> x);

struct Surface {
  std::string kernel_class;
  Seconds floor;
  double own = 0.1, shared = 0.05;
  std::vector<float> values;

  double at(const SurfaceCell& cell) const;
};

struct SurfaceFile {
  std::string comment;  // lines beginning with '#'
  SurfaceAxes axes;
  std::vector<Surface> surfaces;

  const Surface* find(std::string_view kernel_class) const;
};

// Below catalog/: "kernels/gemm/vllm-h100-sxm.txt".
std::string surface_path(std::string_view family, std::string_view framework, std::string_view gpu);

// InputError with file and line if the text is malformed.
SurfaceFile parse_surfaces(std::string_view text, const std::string& name);
std::string to_text(const SurfaceFile& file);

}  // namespace orrery
