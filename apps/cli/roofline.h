// The roofline as a self-contained HTML page: for each GPU the rate that bandwidth and peak allow
// over arithmetic intensity, and predicted kernels as points on it. Both axes are logarithmic.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/units.h"

namespace orrery::cli {

struct RooflinePoint {
  std::string label;
  double intensity = 0;  // FLOPs per byte, > 0
  double rate = 0;       // FLOP/s, > 0
};

struct Roofline {
  std::string gpu, format;
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;
  std::vector<RooflinePoint> points;
};

std::string roofline_page(const std::string& title, const std::vector<Roofline>& rooflines);

}  // namespace orrery::cli
