// One mapping on one chip, checked, counted and priced by the convention of Timeloop.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/cost/nest_cost.h"
#include "orrery/accelerator/count/validity.h"
#include "orrery/accelerator/sparse/sparse_count.h"

namespace orrery {

struct Evaluation {
  NestCounts counts;
  NestCost cost;
  double operations = 0;   // steps of all units in use
  double utilization = 0;  // operations over what all units could do in the cycles, at most 1
  double area_mm2 = 0;     // of all instances built; 0 where no component has an area
};

// Infeasible: every reason why the chip cannot run the mapping, a sentence each, with the level,
// the tensors and the words. InputError: a mapping that is not even (mapping.h),
// or in which the outermost memory does not keep a tensor.
Evaluation evaluate(const Chip& chip, const Einsum& problem, const Mapping& mapping);

// The same of a sparse design: counts are those that take bandwidth, operations those that are
// made, and `sparse` has what is made, gated and skipped. The utilisation counts gated operations.
// Infeasible also where metadata or ranks do not fit (sparse_count.h).
Evaluation evaluate_sparse(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                           const SparseDesign& design, SparseCounts& sparse);

// The mapping as a tree, one loop or memory a line; `counts` may be null (no tiles are shown).
std::string draw_mapping(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                         const NestCounts* counts);

}  // namespace orrery
