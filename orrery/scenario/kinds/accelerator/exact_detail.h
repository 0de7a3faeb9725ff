// A mapping evaluated by the convention exact, and what another convention counts.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/cost/convention_difference.h"
#include "orrery/scenario/kinds/accelerator/accelerator_detail.h"

namespace orrery {

// The same mapping by the convention that belongs to its inputs.
struct OtherConvention {
  std::string name;  // timeloop or looptree
  double cycles = 0, energy = 0;
  std::vector<std::vector<AccessDifference>> differences;  // of each step
};

struct ExactDetail : AcceleratorDetail {
  Chip chip;
  Cascade cascade;
  CascadeMapping mapping;
  ExactOptions options;
  ExactCascadeCost cost;
  OtherConvention other;
  bool energies = true;  // whether energies are known

  // A line for each einsum and for each memory.
  std::string summary() const override;
  // Also the accesses of every holder, and what the other convention counts otherwise.
  std::string explanation() const override;
  nlohmann::ordered_json json() const override;
  std::vector<DetailPicture> pictures() const override;
};

}  // namespace orrery
