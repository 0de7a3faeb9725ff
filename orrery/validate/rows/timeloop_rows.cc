#include "orrery/validate/rows/timeloop_rows.h"

#include "orrery/accelerator/architecture/timeloop_architecture.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

template <class List>
std::size_t index_of(const List& list, const Node& name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name.as_string()) return i;
  }
  name.fail("expected a level or tensor of the case");
}

SparseAccesses read_accesses(const Node& tensor, const std::string& what) {
  return {tensor.at("random_" + what).as_double(), tensor.at("gated_" + what).as_double(),
          tensor.at("skipped_" + what).as_double()};
}

void read_expected(const Node& expected, TimeloopCase& c) {
  c.cycles = expected.at("cycles").as_double();
  c.energy_pj = expected.at("total_energy_pj").as_double();
  for (const Node& level : expected.at("levels").items()) {
    const std::size_t l = index_of(c.chip.levels, level.at("level"));
    const Node& tensors = level.at("tensors");
    for (std::size_t i = 0; i < tensors.keys().size(); ++i) {
      const Node& t = tensors.items()[i];
      std::size_t tensor = 0;
      while (tensor < c.problem.tensors.size() &&
             c.problem.tensors[tensor].name != tensors.keys()[i]) {
        ++tensor;
      }
      if (tensor == c.problem.tensors.size()) t.fail("expected a tensor of the case");
      c.counts.push_back({l,
                          tensor,
                          t.at("utilized_capacity").as_double(),
                          t.at("reads").as_double(),
                          t.at("fills").as_double(),
                          t.at("updates").as_double(),
                          {}});
      if (!c.sparse) continue;
      SparseTensorCounts& sparse = c.counts.back().sparse;
      sparse.reads = read_accesses(t, "reads");
      sparse.fills = read_accesses(t, "fills");
      sparse.updates = read_accesses(t, "updates");
      sparse.tile = c.counts.back().tile;
    }
  }
}

}  // namespace

std::vector<TimeloopCase> read_timeloop_cases(
    const std::filesystem::path& file,
    const std::function<void(const std::string& id, const std::string& why)>& failed) {
  std::vector<TimeloopCase> cases;
  const Node document = read_document(file);
  if (!document.is_list()) document.fail("expected a list of cases");
  for (const Node& node : document.items()) {
    TimeloopCase c;
    c.id = node.at("id").as_string();
    try {
      c.problem = read_timeloop_problem(node.at("problem"));
      c.chip =
          read_flat_architecture(node.at("architecture"), node.at("architecture_name").as_string());
      c.mapping = read_timeloop_mapping(node.at("mapping_directives"), c.problem, c.chip);
      if (const Node* design = node.find("sparse_optimizations")) {
        c.sparse =
            read_timeloop_sparse(node.at("problem").at("instance"), design, c.problem, c.chip);
        add_component_details(component_nodes(node.at("architecture")), *c.sparse);
        add_loop_orders(node.at("mapping_directives"), c.problem, c.chip, *c.sparse);
      }
      if (const Node* refusal = node.find("expected_error")) {
        c.refusal = refusal->as_string();
      } else {
        read_expected(node.at("expected"), c);
      }
    } catch (const InputError& e) {
      failed(c.id, e.what());
      continue;
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace orrery
