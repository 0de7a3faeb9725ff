// A law says how far engines on GPUs are from the sum of their kernels' times: one factor for all,
// one for each engine and one for each architecture of GPUs beyond it, all normal in their
// logarithms. `orrery fit edge` finds them on published MLPerf runs; they are in
// catalog/edge/laws/engines.yaml.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/edge/device/law_effects.h"

namespace orrery {

struct EngineLaw {
  std::string recipe;                 // what was fitted
  double all = 0;                     // logarithm of the factor
  LawEffects engines, architectures;  // logarithms beyond `all`: "tensorrt", "ada"
  // Standard deviations of the logarithm: of a time with an engine and an architecture that were
  // measured; of what an engine or an architecture differs by that was not.
  double known = 0.25, unknown = 0.3;

  double factor(std::string_view engine, std::string_view architecture) const;
  double deviation(std::string_view engine, std::string_view architecture) const;
};

// InputError: no such file, or it is malformed.
EngineLaw read_engine_law(const Bundle& bundle);
std::string engine_law_text(const EngineLaw& law);

}  // namespace orrery
