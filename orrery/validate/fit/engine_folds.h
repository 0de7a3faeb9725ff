// Constants of engines that were fitted without one group of rows (model, format, system,
// framework, mode), and the bundles that hold them.
//
// `orrery fit engines` writes catalog/engines/group-folds/<engine>.yaml, one YAML document for each
// group:
//
//   --- # llama-3-8b|fp16|mi300x|vllm|agg
//   execution:
//     host_per_step: 500 us
//   ...
//
// A document holds all constants of the engine on the group's GPU, and the errors that the other
// groups ask for. `orrery validate inference` predicts the group's rows with them.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/bundle.h"

namespace orrery {

// `bundle` with the constants of `engine` that were fitted without `group`, in place of all that
// were fitted with it. Nothing if no fit of the engine has seen the group.
std::optional<Bundle> bundle_without_group(const Bundle& bundle, const std::string& engine,
                                           const std::string& group);

}  // namespace orrery
