#include <algorithm>

#include "orrery/accelerator/mapping/timeloop_text.h"
#include "orrery/accelerator/search/mapspace.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

void read_loops(const Node& node, const std::vector<std::string>& dims, LoopConstraint& loops) {
  const Node* factors = node.find("factors");
  if (factors == nullptr) return;
  for (const TimeloopFactor& f : read_factors(*factors, dims)) {
    (f.bound ? loops.most : loops.factors)[index(f.dim)] = f.size;
  }
}

void read_spatial(const Node& node, const std::vector<std::string>& dims, LevelConstraints& level) {
  for (LoopConstraint& axis : level.space) read_loops(node, dims, axis);
  const Node* split = node.find("split");
  const Node* permutation = node.find("permutation");
  if (split == nullptr || permutation == nullptr) return;
  // The first `split` dimensions run along X, the others along Y.
  const std::vector<int> order = read_permutation(*permutation, dims);
  const std::int64_t along_x = split->as_int();
  for (std::size_t i = 0; i < order.size(); ++i) {
    LoopConstraint& other = level.space[static_cast<std::int64_t>(i) < along_x ? 1 : 0];
    other.factors[index(order[i])] = 1;
  }
}

}  // namespace

MapspaceConstraints read_timeloop_constraints(const Node& root, const Einsum& problem,
                                              const Chip& chip) {
  MapspaceConstraints all = unconstrained(problem, chip);
  std::vector<std::string> levels, tensors;
  for (const StorageLevel& level : chip.levels) levels.push_back(level.name);
  for (const EinsumTensor& tensor : problem.tensors) tensors.push_back(tensor.name);
  const Node* list = &root;
  for (const char* key :
       {"architecture_constraints", "mapspace_constraints", "mapspace", "constraints", "targets"}) {
    if (const Node* inside = list->find(key)) list = inside;
  }
  if (!list->is_list()) list->fail("expected a list of targets");
  for (const Node& node : list->items()) {
    const Node& target = node.at("target");
    LevelConstraints& level =
        all[index(index_of_name(levels, target.as_string(), target, "level"))];
    const std::string& type = node.at("type").as_string();
    if (type == "temporal") {
      read_loops(node, problem.dims, level.time);
      if (const Node* p = node.find("permutation")) {
        level.time.innermost = read_permutation(*p, problem.dims);
      }
    } else if (type == "spatial") {
      read_spatial(node, problem.dims, level);
    } else if (type == "datatype" || type == "dataspace" || type == "bypass" ||
               type == "bypassing") {
      for (const bool keep : {true, false}) {
        const Node* names = node.find(keep ? "keep" : "bypass");
        if (names == nullptr) continue;
        for (const Node& name : names->items()) {
          level.keeps[index(index_of_name(tensors, name.as_string(), name, "tensor"))] = keep;
        }
      }
    } else {
      node.at("type").fail("expected temporal, spatial, dataspace or bypass");
    }
  }
  return all;
}

}  // namespace orrery
