// Fits the surface of one kernel class to its measured calls.
//
// The floor is 0.6 times the fastest call. The surface is the least-squares solution of log((time -
// floor)/base) on the grid, with Huber weights and penalties on roughness (grid_fit.h). A row
// counts by the share of its time that the surface explains. Nodes without rows nearby take the
// value of the nearest node that has some.
//
// For families with edges (kernel_tables.h) boosted trees are fitted first, and the grid to their
// residuals; only the sum is kept. The trees also see the rows of sister GPUs, which run the same
// kernels; the GPU of a row is one of its features. If a family has series, the series of each
// shape is fitted to the residuals of the surface.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/fit/grid_fit.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {

// Fits the classes of one framework on one GPU, parents before their children.
class ClassFitter {
 public:
  explicit ClassFitter(const KernelFamily& family);
  ClassFitter(const KernelFamily& family, SurfaceSolving solving);

  // `parent`: the surface, made by this object, of the class that would stand in for this one, or
  // null; where there are no rows the surface follows its shape. `sisters`: the same class on other
  // GPUs of the generation. `floor`: the floor, if it is known. Points that are left out are not
  // used.
  Surface fit(const std::string& name, const std::vector<MeasuredPoint>& points,
              const Surface* parent, std::span<const std::vector<MeasuredPoint>* const> sisters,
              std::optional<Seconds> floor = {});

 private:
  // The surface of a class before it is made constant where no rows are.
  struct FittedShape {
    std::vector<float> values;
    std::vector<bool> supported;
  };

  const KernelTables& tables_;
  const SurfaceSolving solving_;
  const GridFit grid_;
  std::optional<GridFit> series_grid_;
  std::map<std::string, FittedShape> shapes_;  // by class
};

// The range that the calls cover.
MeasuredRange measured_range_of(const std::vector<MeasuredPoint>& points);

// The surface of a class without series, parent and sisters, with the family's smoothness and
// without steps.
Surface fit_surface(const std::string& name, const KernelFamily& family,
                    const std::vector<MeasuredPoint>& points, Seconds floor);

}  // namespace orrery
