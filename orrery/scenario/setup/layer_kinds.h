// The kinds of layers that a model has, by which profiles of engines say what was measured of them
// (EngineProfile::fitted_layers): "softmax", "latent" and "linear" attention, and "experts".
#pragma once

#include <string>
#include <vector>

#include "orrery/model/architecture/architecture.h"

namespace orrery {

// Each kind once, in alphabetical order.
std::vector<std::string> layer_kinds(const Architecture& model);

}  // namespace orrery
