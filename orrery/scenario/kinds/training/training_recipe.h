// Recipes of training by name: layouts that training stacks publish, each a file of
// catalog/recipes. A recipe is the document of a scenario, so that its keys can be overridden and
// `orrery train --recipe NAME` answers as the same scenario does.
//
//   doc: Megatron Bridge 25.11, Llama 3 70B pre-training, FP8 with current scaling, 64 H100
//   source: https://github.com/...    # where a reader finds the values
//   date: 2025-11                     # of the source, else the day on which it was read
//   scenario: {model: llama-3-70b, hardware: {gpu: h100-sxm}, training: {...}}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/node.h"

namespace orrery {

struct TrainingRecipe {
  std::string id;  // the name of its file
  std::string doc, source, date;
  Node scenario;
};

std::vector<std::string> training_recipe_ids(const Bundle& bundle);

// InputError: there is no such recipe (with the nearest name), a key is missing or unknown.
TrainingRecipe training_recipe(std::string_view name, const Bundle& bundle);

}  // namespace orrery
