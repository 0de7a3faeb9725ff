// The facts of a model as `orrery list` and `orrery show` print them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "orrery/model/architecture/architecture.h"

namespace orrery::cli {

using Json = nlohmann::ordered_json;

// Parameters, shape, kinds of layers and quantisation of the model, which is called `id`.
// "layer_kinds" has one text for each kind of layer under a letter; "layer_order" is the stack in
// these letters, first layer to last: "10 x (5 x A, B), 2 x A".
Json model_facts(const Architecture& model, const std::string& id);

}  // namespace orrery::cli
