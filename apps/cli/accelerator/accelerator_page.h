// Self-contained pages of `orrery accelerator`: pictures, then the text that -o table prints.
#pragma once

#include <string>

#include "apps/cli/accelerator/output_cascade.h"
#include "apps/cli/accelerator/output_exact.h"
#include "apps/cli/accelerator/output_fixed.h"
#include "apps/cli/output/output_accelerator.h"

namespace orrery::cli {

// The energy of each level where energies are known, and the mapping as nested boxes.
std::string page(const AcceleratorAnswer& answer);
// The time of each einsum, and the energy of each.
std::string page(const CascadeAnswer& answer);
// The cycles of each einsum, and the energy of each where energies are known.
std::string page(const ExactAnswer& answer);
// The cycles of each layer.
std::string page(const SystolicAnswer& answer);
std::string page(const DirectiveAnswer& answer);

}  // namespace orrery::cli
