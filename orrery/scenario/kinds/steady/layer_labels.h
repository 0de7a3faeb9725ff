// Short names for the kinds of layers of a model, such as "dense" and "moe", or "window 128" and
// "full".
#pragma once

#include <string>
#include <vector>

#include "orrery/model/architecture/architecture.h"

namespace orrery {

// A label for each LayerSpec of the stack, in their order. It names the mixer where the mixers
// differ and the MLP where the MLPs differ. Specs that differ in other sizes alone have the same
// label.
std::vector<std::string> layer_labels(const LayerStack& layers);

}  // namespace orrery
