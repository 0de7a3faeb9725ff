// Recorded evaluations of Timeloop: a fixed mapping of a problem on an architecture, and every
// count, cycle and energy that the tool reported (measured/accelerator/timeloop_cases.json.gz), the
// same of sparse designs (timeloop_sparse_cases.json.gz), and mappings that it
// refused (timeloop_refused.json).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"
#include "orrery/accelerator/sparse/sparse_count.h"

namespace orrery {

// The record of one level and tensor, or of a tensor's deliveries below a level.
struct TimeloopCount {
  std::size_t level = 0, tensor = 0;
  double tile = 0, reads = 0, fills = 0, updates = 0;  // words of an instance
  SparseTensorCounts sparse;                           // where the record has a sparse design
};

struct TimeloopCase {
  std::string id;
  Einsum problem;
  Chip chip;
  Mapping mapping;
  std::optional<SparseDesign> sparse;
  std::vector<TimeloopCount> counts;
  double cycles = 0;
  double energy_pj = 0;
  std::string refusal;  // Timeloop's reason; empty: it evaluated the mapping
};

// Calls of `failed` name cases that cannot be read, with the reason.
std::vector<TimeloopCase> read_timeloop_cases(
    const std::filesystem::path& file,
    const std::function<void(const std::string& id, const std::string& why)>& failed);

}  // namespace orrery
