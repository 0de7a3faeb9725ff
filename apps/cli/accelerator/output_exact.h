// Renders a mapping evaluated by the convention exact, and what another convention counts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/accelerator/cost/convention_difference.h"

namespace orrery::cli {

// The same mapping by the convention that belongs to its inputs.
struct OtherConvention {
  std::string name;  // timeloop or looptree
  double cycles = 0, energy = 0;
  std::vector<std::vector<AccessDifference>> differences;  // of each step
};

struct ExactAnswer {
  const Chip& chip;
  const Cascade& cascade;
  const CascadeMapping& mapping;
  const ExactOptions& options;
  const ExactCascadeCost& cost;
  const OtherConvention& other;
  bool energies = true;  // whether energies are known
};

// Cycles and energy, a line for each einsum and for each memory; 80 columns.
std::string summary(const ExactAnswer& a);
// The summary, the accesses of every holder, and what the other convention counts otherwise.
std::string explanation(const ExactAnswer& a);
nlohmann::ordered_json to_json(const ExactAnswer& a);

}  // namespace orrery::cli
