// The surface of one kernel class from its measured calls.
//
// floor = 0.6 x the fastest call; the surface is the least-squares solution of
// log((time - floor)/base) on the grid with Huber weights and penalties on roughness (grid_fit.h),
// each row counting by how much of its time the surface explains. Nodes that no row is near to take
// the value of the nearest that has one. Of families with edges (family.h) boosted trees are fitted
// first, and the grid to what they leave; only the sum is kept. The trees see the rows of sister
// GPUs as well, which run the same kernels: which GPU's they are is one of their traits. Where a
// family has series, those of each shape are fitted to what the surface leaves.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/families/family.h"
#include "orrery/kernel/fit/grid_fit.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {

// Fits the classes of one framework on one GPU, parents before their children.
class ClassFitter {
 public:
  // How a family's surfaces are solved for.
  struct Solving {
    std::vector<AxisSmoothness> smoothness;
    double huber = 0.05;  // log error beyond which a row pulls no harder
    int rounds = 4;       // of Huber weights, and of steps
    Steps steps = {};
  };

  explicit ClassFitter(const KernelFamily& family);
  ClassFitter(const KernelFamily& family, Solving solving);

  // `parent`: the surface of the class that would stand in for this one, made by this object, or
  // null. Where there are no rows the surface follows its shape. `sisters`: the same class on other
  // GPUs of the generation. `floor`: where it is known. Points left out are not used.
  Surface fit(const std::string& name, const std::vector<MeasuredPoint>& points,
              const Surface* parent, std::span<const std::vector<MeasuredPoint>* const> sisters,
              std::optional<Seconds> floor = {});

 private:
  // A class's surface before it is made constant where no rows tell of it.
  struct FittedShape {
    std::vector<float> values;
    std::vector<bool> supported;
  };

  const KernelFamily& family_;
  const Solving solving_;
  const GridFit grid_;
  std::optional<GridFit> series_grid_;
  std::map<std::string, FittedShape> shapes_;  // by class
};

// What the calls cover.
MeasuredRange measured_range_of(const std::vector<MeasuredPoint>& points);

// A surface without series, solved for as most families' are.
Surface fit_surface(const std::string& name, const KernelFamily& family,
                    const std::vector<MeasuredPoint>& points, Seconds floor);

}  // namespace orrery
