// Renders an evaluated mapping of `orrery accelerator`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/evaluate.h"

namespace orrery::cli {

struct AcceleratorAnswer {
  const TimeloopArchitecture& architecture;
  const Einsum& problem;
  const Mapping& mapping;
  const Evaluation& evaluation;
  const SparseCounts* sparse;  // null for dense tensors
};

// The energy of a level with its leakage and its network, in picojoules.
double level_energy(const LevelCost& cost);

// Cycles, energy and area, and a line for each level; 80 columns.
std::string summary(const AcceleratorAnswer& a);
// The summary, the mapping as a tree, the accesses of every level and tensor, and what bounds the
// cycles.
std::string explanation(const AcceleratorAnswer& a);
nlohmann::ordered_json to_json(const AcceleratorAnswer& a);

}  // namespace orrery::cli
