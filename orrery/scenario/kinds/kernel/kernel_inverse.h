// The question about a single kernel that asks for a given op: the inverse of make_op.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orrery/workload/ops/op.h"

namespace orrery {

// The keys of a scenario below `kernel` and their values, without the framework. Nothing if no
// question makes the op: it has sizes that questions do not name (the ranks of latent attention,
// values narrower than keys), or a mean where questions have a whole number.
std::optional<std::map<std::string, std::string>> kernel_keys_of(const Op& op);

}  // namespace orrery
