// A mapping of a cascade, evaluated by the convention looptree.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/scenario/kinds/accelerator/accelerator_detail.h"

namespace orrery {

struct CascadeDetail : AcceleratorDetail {
  Chip chip;
  Cascade cascade;
  CascadeMapping mapping;
  CascadeCost cost;

  std::string summary() const override;
  // Also the tile, the accesses and the time of every holder.
  std::string explanation() const override;
  nlohmann::ordered_json json() const override;
  std::vector<DetailPicture> pictures() const override;
};

// "355 us", "1.01 mJ": three digits with a prefix.
std::string seconds_text(double seconds);
std::string joules_text(double joules);

}  // namespace orrery
