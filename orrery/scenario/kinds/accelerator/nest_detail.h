// A mapping of one einsum, evaluated by the convention timeloop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/evaluate.h"
#include "orrery/scenario/kinds/accelerator/accelerator_detail.h"

namespace orrery {

struct NestDetail : AcceleratorDetail {
  TimeloopArchitecture architecture;
  Einsum problem;
  Mapping mapping;
  Evaluation evaluation;
  std::optional<SparseCounts> sparse;  // none for dense tensors
  // The search, and how many mappings it tried; none: the mapping was given.
  struct Search {
    std::string mapper;
    std::int64_t tried = 0, valid = 0;
  };
  std::optional<Search> search;

  std::string summary() const override;
  // Also the mapping as a tree, the accesses of every level and tensor, and what bounds the cycles.
  std::string explanation() const override;
  nlohmann::ordered_json json() const override;
  // The mapping as nested boxes, and the energy of each level where energies are known.
  std::vector<DetailPicture> pictures() const override;
};

}  // namespace orrery
