// The readers of Timeloop's inputs on any YAML, and the evaluation of what they accept: counts that
// are no nonsense, in bounded time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/evaluate.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/accelerator/search/mapper.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const Node root = parse_yaml(text, "input.yaml");
    const TimeloopArchitecture a =
        read_timeloop_architecture(root.at("architecture"), nullptr, nullptr, "fuzz");
    const Einsum problem = read_timeloop_problem(root.at("problem"));
    if (const Node* constraints = root.find("constraints")) {
      MapperOptions options;
      options.valid = 3;
      options.most_tried = 50;
      make_mapper("hill-climb")
          ->search(problem, a.chip, read_timeloop_constraints(*constraints, problem, a.chip),
                   options);
    }
    const Mapping mapping = read_timeloop_mapping(root.at("mapping"), problem, a.chip);
    try {
      const Evaluation e = evaluate(a.chip, problem, mapping);
      if (!(e.cost.cycles >= 1) || !std::isfinite(e.cost.energy) || e.cost.energy < 0) std::abort();
    } catch (const Infeasible&) {
    }
    if (const Node* sparse = root.find("sparse")) {
      SparseDesign design =
          read_timeloop_sparse(*sparse, sparse->find("sparse_optimizations"), problem, a.chip);
      add_component_designs(a.components, problem, a.chip, design);
      add_component_details(a.components, design);
      add_loop_orders(root.at("mapping"), problem, a.chip, design);
      try {
        SparseCounts counts;
        const Evaluation e = evaluate_sparse(a.chip, problem, mapping, design, counts);
        if (!(e.cost.cycles >= 1) || !std::isfinite(e.cost.energy) || e.cost.energy < 0) {
          std::abort();
        }
      } catch (const Infeasible&) {
      }
    }
  });
  return 0;
}
