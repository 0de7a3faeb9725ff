// Renders an evaluated mapping of a cascade under the convention looptree.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "orrery/accelerator/cost/looptree_cost.h"

namespace orrery::cli {

struct CascadeAnswer {
  const Chip& chip;
  const Cascade& cascade;
  const CascadeMapping& mapping;
  const CascadeCost& cost;
};

// Time and energy, a line for each einsum and for each memory; 80 columns.
std::string summary(const CascadeAnswer& a);
// The summary, and for each einsum the tile, the accesses and the time of every holder.
std::string explanation(const CascadeAnswer& a);
nlohmann::ordered_json to_json(const CascadeAnswer& a);

// "355 us", "1.01 mJ": three digits with a prefix.
std::string seconds_text(double seconds);
std::string joules_text(double joules);

}  // namespace orrery::cli
