// The constants of engine profiles that measured requests and batches can fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/fit.h"
#include "orrery/hardware/catalog.h"
#include "orrery/validate/rows/inference_rows.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// A constant of a profile. Fits vary its logarithm.
struct EngineConstant {
  const char* key;     // below the profile: "kernels.memory_factor"
  const char* unit;    // empty: a plain factor
  double scale;        // of the unit
  double least, most;  // in that unit
  double usual = 1;    // where the search starts if the profile has zero

  // The logarithm of the profile's value, from which a fit starts.
  double start(const EngineProfile& profile) const;
  // The value of the logarithm `x` as a file or a scenario states it: "6.3 us".
  std::string text(double x) const;
};

// The constants that `rows` of one engine determine: times of sequences where there are batches, of
// layers where decodes are not replayed from graphs, of collectives where there are several GPUs.
std::vector<EngineConstant> constants_of(std::span<const MeasuredRow> rows,
                                         const EngineProfile& profile, const Catalog& catalog);

// The box that the constants may be fitted in.
Bounds bounds_of(std::span<const EngineConstant> constants);

// The constants with the logarithms `x` as the text of a profile.
std::string constants_text(std::span<const EngineConstant> constants, std::span<const double> x);

}  // namespace orrery
