#include "orrery/accelerator/cost/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/accelerator/cost/sparse_cost.h"
#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestMessage = 400;  // it quotes names of the input

double area_of(const Chip& chip) {
  const std::vector<std::int64_t> built = instances(chip);
  double area = real(built.back()) * chip.compute.area;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) area += real(built[l]) * chip.levels[l].area;
  return area;
}

void require_valid(const std::vector<Violation>& violations, const Einsum& problem,
                   const Chip& chip, const NestCounts& counts) {
  std::string reasons;
  for (const Violation& v : violations) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(v, problem, chip, counts);
  }
  if (!reasons.empty()) throw Infeasible(reasons);
}

// The outermost memory keeps every tensor: there is nowhere else to have it from.
void require_backing(const Chip& chip, const Einsum& problem, const Mapping& mapping) {
  std::size_t outermost = 0;
  while (outermost + 1 < chip.levels.size() &&
         chip.levels[outermost].kind != StorageLevel::Kind::kMemory) {
    ++outermost;
  }
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const MappingNode kept = hold(static_cast<int>(outermost), static_cast<int>(t));
    if (std::find(mapping.nodes.begin(), mapping.nodes.end(), kept) == mapping.nodes.end()) {
      throw InputError(
          shortened(fmt::format("mapping: {} does not keep {}: the outermost memory keeps every "
                                "tensor",
                                chip.levels[outermost].name, problem.tensors[t].name),
                    kLongestMessage));
    }
  }
}

void require_form(const Chip& chip, const Einsum& problem, const Mapping& mapping) {
  if (!is_even(mapping)) {
    throw InputError(
        "mapping: holders and loops of a level must stand together, in the order of the levels");
  }
  require_backing(chip, problem, mapping);
}

}  // namespace

Evaluation evaluate(const Chip& chip, const Einsum& problem, const Mapping& mapping) {
  require_form(chip, problem, mapping);
  Evaluation e;
  require_valid(fan_out_violations(chip, mapping), problem, chip, e.counts);
  TimeloopCounter(problem, chip).count(mapping, e.counts);
  require_valid(capacity_violations(chip, e.counts), problem, chip, e.counts);
  cost_nest(chip, e.counts, e.cost);
  e.operations = e.counts.steps * e.counts.active_units;
  e.utilization = e.operations / (e.cost.cycles * real(instances(chip).back()));
  e.area_mm2 = area_of(chip);
  return e;
}

Evaluation evaluate_sparse(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                           const SparseDesign& design, SparseCounts& sparse) {
  require_form(chip, problem, mapping);
  Evaluation e;
  require_valid(fan_out_violations(chip, mapping), problem, chip, e.counts);
  NestCounts dense;
  TimeloopCounter(problem, chip).count(mapping, dense);
  sparse = sparse_counts(problem, chip, mapping, dense, design);
  e.counts = sparse.occupied;
  require_valid(capacity_violations(chip, e.counts), problem, chip, e.counts);
  const std::vector<std::string> metadata = metadata_violations(chip, design, sparse);
  if (!metadata.empty()) throw Infeasible(fmt::format("{}", fmt::join(metadata, "\n")));
  cost_sparse(chip, design, sparse, e.cost);
  e.operations = sparse.computes.random;
  e.utilization = (sparse.computes.random + sparse.computes.gated) /
                  (e.cost.cycles * real(instances(chip).back()));
  e.area_mm2 = area_of(chip);
  return e;
}

std::string draw_mapping(const Chip& chip, const Einsum& problem, const Mapping& mapping,
                         const NestCounts* counts) {
  std::string out;
  std::size_t depth = 0;
  const auto add = [&](const std::string& line) {
    out += std::string(2 * depth++, ' ') + line + "\n";
  };
  std::size_t next = 0;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const StorageLevel& level = chip.levels[l];
    std::string held;
    for (std::size_t i = next; i < mapping.nodes.size(); ++i) {
      const MappingNode& n = mapping.nodes[i];
      if (n.level != static_cast<int>(l) || !n.hold()) continue;
      const auto t = static_cast<std::size_t>(n.index);
      held += " " + problem.tensors[t].name;
      if (counts != nullptr) held += fmt::format(":{:.0f}", counts->levels[l].tensors[t].tile);
    }
    if (level.kind == StorageLevel::Kind::kMemory || !held.empty()) {
      add(fmt::format("{} [{}]", level.name, held.empty() ? "nothing" : held.substr(1)));
    }
    for (; next < mapping.nodes.size() && mapping.nodes[next].level == static_cast<int>(l);
         ++next) {
      const MappingNode& n = mapping.nodes[next];
      if (n.hold()) continue;
      const std::string dim = problem.dims[static_cast<std::size_t>(n.index)];
      const std::string last = n.last == n.size ? "" : fmt::format(", last {}", n.last);
      if (n.time()) {
        add(fmt::format("for {} in {}{}", dim, n.size, last));
      } else {
        const std::string axis =
            n.axis < level.array.size() ? level.array[n.axis].name : std::to_string(n.axis);
        add(fmt::format("parallel {} in {}{} along {}", dim, n.size, last, axis));
      }
    }
  }
  add(chip.compute.name);
  return out;
}

}  // namespace orrery
