#include "orrery/scenario/kinds/accelerator/accelerator_answer.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/search/mapper.h"
#include "orrery/accelerator/search/mapspace.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"
#include "orrery/base/error.h"
#include "orrery/scenario/kind/given_text.h"
#include "orrery/scenario/kinds/accelerator/cascade_detail.h"
#include "orrery/scenario/kinds/accelerator/cascade_files.h"
#include "orrery/scenario/kinds/accelerator/exact_detail.h"
#include "orrery/scenario/kinds/accelerator/fixed_detail.h"
#include "orrery/scenario/kinds/accelerator/nest_detail.h"
#include "orrery/scenario/kinds/accelerator/nest_files.h"

namespace orrery {
namespace {

constexpr Figure kFiguresOfChips[] = {
    {"cycles", "cycles", Better::kLess, Subject::kOther, "accelerator",
     "cycles of the workload on the chip"},
    {"stall_cycles", "cycles", Better::kLess, Subject::kOther, "accelerator",
     "cycles in which a systolic array waits for its memory"},
    {"chip_energy", "mJ", Better::kLess, Subject::kOther, "accelerator",
     "energy of the workload in the chip's memories and compute units"},
    {"operations", "operations", Better::kNeither, Subject::kOther, "accelerator",
     "multiply-adds of the workload"},
    {"utilization", "%", Better::kMore, Subject::kOther, "accelerator",
     "share of the compute units' cycles in which they compute"},
    {"mappings_tried", "mappings", Better::kNeither, Subject::kOther, "accelerator",
     "mappings that the search looked at"},
    {"mappings_valid", "mappings", Better::kNeither, Subject::kOther, "accelerator",
     "mappings that fit the chip, of those"},
};

template <std::size_t kSize>
consteval FigureRef of_chip(const char (&name)[kSize]) {
  return own_figure<kFiguresOfChips>(name);
}

void add(Point& p, FigureRef figure, double value) {
  p.metrics.push_back(exact_metric(figure, value));
  p.metrics.back().origin = Origin::kAnalytical;
}

Point point_of(const std::string& chip, const std::string& workload) {
  Point p;
  p.at = {{"chip", chip}, {"workload", workload}};
  return p;
}

Point nest_point(std::shared_ptr<NestDetail> detail) {
  const Evaluation& e = detail->evaluation;
  Point p = point_of(detail->architecture.chip.name,
                     detail->problem.name.empty() ? "operation" : detail->problem.name);
  add(p, of_chip("cycles"), e.cost.cycles);
  add(p, of_chip("operations"), e.operations);
  add(p, of_chip("utilization"), 100 * e.utilization);
  if (detail->architecture.energies) add(p, of_chip("chip_energy"), e.cost.energy * 1e-9);
  if (e.area_mm2 > 0) add(p, "chip_area", e.area_mm2);
  if (detail->search) {
    add(p, of_chip("mappings_tried"), real(detail->search->tried));
    add(p, of_chip("mappings_valid"), real(detail->search->valid));
  }
  if (detail->architecture.energies && detail->architecture.estimated)
    p.notes.emplace_back(
        "energies are estimated from published tables, leakage and wires left out");
  p.detail = std::move(detail);
  return p;
}

Point evaluated(const Bundle& bundle, const AcceleratorQuestion& q) {
  NestQuestion files = read_nest_question(q, bundle);
  const Chip& chip = files.architecture.chip;
  const Node directives = given_document(q.mapping, "accelerator.mapping");
  auto detail = std::make_shared<NestDetail>();
  detail->mapping = read_timeloop_mapping(directives, files.problem, chip);
  if (files.sparse) {
    add_loop_orders(directives, files.problem, chip, *files.sparse);
    detail->evaluation = evaluate_sparse(chip, files.problem, detail->mapping, *files.sparse,
                                         detail->sparse.emplace());
  } else {
    detail->evaluation = evaluate(chip, files.problem, detail->mapping);
  }
  detail->architecture = std::move(files.architecture);
  detail->problem = std::move(files.problem);
  detail->explained = q.ask == "explain";
  return nest_point(std::move(detail));
}

// The reasons why a search found nothing, the most frequent first.
std::string failures(const MapperResult& r, const Chip& chip) {
  std::string out = fmt::format("no valid mapping among {} tried: {} exceeded an array or a bound",
                                r.tried, r.failed_fan_out);
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    if (r.failed_capacity[l] == 0) continue;
    out += fmt::format(", {} the words of {}", r.failed_capacity[l], chip.levels[l].name);
  }
  return out;
}

MapperOptions search_options(const AcceleratorQuestion& q) {
  MapperOptions options;
  options.objective = q.objective == "energy"  ? MappingObjective::kEnergy
                      : q.objective == "delay" ? MappingObjective::kDelay
                                               : MappingObjective::kEnergyDelayProduct;
  options.valid = q.valid;
  options.seed = static_cast<std::uint64_t>(q.seed);
  return options;
}

Point searched(const Bundle& bundle, const AcceleratorQuestion& q) {
  const auto mapper = make_mapper(q.mapper);
  const MapperOptions options = search_options(q);
  NestQuestion files = read_nest_question(q, bundle);
  if (files.sparse) {
    throw InputError(
        "accelerator map: mappings of sparse designs are evaluated, not searched for; search "
        "without densities and sparse_optimizations, then evaluate the mapping with them");
  }
  const Chip& chip = files.architecture.chip;
  if (!files.architecture.energies && options.objective != MappingObjective::kDelay) {
    throw NoData(fmt::format("{}: no energy of {}; give --energies, or search by --objective delay",
                             given_name(q.arch, "accelerator.arch"),
                             files.architecture.without_energy.front()));
  }
  const MapspaceConstraints constraints =
      q.constraints.empty()
          ? chip_constraints(files.problem, chip)
          : read_timeloop_constraints(given_document(q.constraints, "accelerator.constraints"),
                                      files.problem, chip);
  const MapperResult r = mapper->search(files.problem, chip, constraints, options);
  if (!r.found()) throw Infeasible(failures(r, chip));
  auto detail = std::make_shared<NestDetail>();
  detail->mapping = r.best;
  detail->evaluation = evaluate(chip, files.problem, r.best);
  detail->search = {q.mapper, r.tried, r.valid};
  detail->architecture = std::move(files.architecture);
  detail->problem = std::move(files.problem);
  detail->explained = true;
  return nest_point(std::move(detail));
}

Point cascade(const Bundle& bundle, const AcceleratorQuestion& q) {
  CascadeQuestion files = read_cascade_question(q, bundle);
  auto detail = std::make_shared<CascadeDetail>();
  detail->cost = cost_cascade(files.chip, files.cascade, files.mapping);
  Point p = point_of(files.chip.name, files.cascade.name);
  add(p, "time", detail->cost.seconds * 1e6);
  add(p, of_chip("chip_energy"), detail->cost.energy * 1e3);
  detail->chip = std::move(files.chip);
  detail->cascade = std::move(files.cascade);
  detail->mapping = std::move(files.mapping);
  detail->explained = q.ask == "explain";
  p.detail = std::move(detail);
  return p;
}

void require_exact_fit(const CascadeQuestion& q, const ExactCascadeCost& cost,
                       const ExactOptions& options) {
  std::string reasons;
  for (const ExactOverflow& overflow : exact_overflows(q.chip, q.cascade, cost, options)) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(overflow, q.chip, q.cascade, cost, options);
  }
  if (reasons.empty()) return;
  ExactOptions single = options;
  single.double_buffered = false;
  const bool fits = exact_overflows(q.chip, q.cascade, cost, single).empty();
  throw Infeasible(reasons + (fits ? "; --buffers single fits" : ""));
}

OtherConvention other_convention(const CascadeQuestion& q, const ExactCascadeCost& cost) {
  OtherConvention other;
  if (q.timeloop) {
    other.name = "timeloop";
    NestCounts counts;
    NestCost nest;
    TimeloopCounter(q.cascade.steps[0].einsum, q.chip).count(q.mapping.steps[0].mapping, counts);
    cost_nest(q.chip, counts, nest);
    other.cycles = nest.cycles;
    other.energy = (nest.energy + nest.compute_leakage) * 1e-12;
    other.differences.push_back(differences(cost.traffic[0], counts));
    return other;
  }
  const CascadeCost looptree = cost_cascade(q.chip, q.cascade, q.mapping);
  other.name = "looptree";
  other.cycles = looptree.seconds * q.chip.clock_hz;
  other.energy = looptree.energy;
  for (std::size_t s = 0; s < cost.traffic.size(); ++s) {
    other.differences.push_back(differences(cost.traffic[s], looptree.counts[s]));
  }
  return other;
}

Point exact(const Bundle& bundle, const AcceleratorQuestion& q) {
  CascadeQuestion files = read_exact_question(q, bundle);
  auto detail = std::make_shared<ExactDetail>();
  detail->options = {q.buffers != "single", files.timeloop};
  detail->cost = cost_exact_cascade(files.chip, files.cascade, files.mapping, detail->options);
  require_exact_fit(files, detail->cost, detail->options);
  detail->other = other_convention(files, detail->cost);
  detail->energies = files.energies;
  Point p = point_of(files.chip.name, files.cascade.name);
  add(p, of_chip("cycles"), detail->cost.cycles);
  if (files.energies) add(p, of_chip("chip_energy"), detail->cost.energy * 1e3);
  detail->chip = std::move(files.chip);
  detail->cascade = std::move(files.cascade);
  detail->mapping = std::move(files.mapping);
  detail->explained = q.ask == "explain";
  p.detail = std::move(detail);
  return p;
}

Point systolic(const AcceleratorQuestion& q) {
  auto detail = std::make_shared<SystolicDetail>();
  const std::string layers = given_name(q.topology, "accelerator.topology");
  detail->config =
      read_scalesim_config(given_text(q.config), given_name(q.config, "accelerator.config"));
  detail->layers = read_scalesim_topology(given_text(q.topology), layers);
  double cycles = 0, stalls = 0;
  for (const ScaleSimLayer& l : detail->layers) {
    try {
      detail->runs.push_back(run_systolic(detail->config.array, l.product));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: layer {}: {}", layers, l.name, e.what()));
    }
    cycles += real(l.times) * real(detail->runs.back().cycles);
    stalls += real(l.times) * real(detail->runs.back().stalls);
  }
  const std::string& run = detail->config.run_name;
  Point p = point_of(run.empty() ? "systolic array" : run, stem_of(layers));
  add(p, of_chip("cycles"), cycles);
  add(p, of_chip("stall_cycles"), stalls);
  p.detail = std::move(detail);
  return p;
}

Point directives(const AcceleratorQuestion& q) {
  auto detail = std::make_shared<DirectiveDetail>();
  const std::string layers = given_name(q.mapping, "accelerator.mapping");
  if (!q.hardware.empty())
    detail->hardware = read_directive_hardware(given_text(q.hardware),
                                               given_name(q.hardware, "accelerator.hardware"));
  detail->layers = read_directive_layers(given_text(q.mapping), layers);
  double cycles = 0, energy = 0;
  for (const DirectiveLayer& l : detail->layers) {
    try {
      detail->costs.push_back(evaluate_directives(l, detail->hardware.machine));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: layer {}: {}", layers, l.name, e.what()));
    }
    const DirectiveCost& c = detail->costs.back();
    cycles += c.cycles;
    energy += l1_energy(c) + l2_energy(c);
  }
  Point p = point_of(fmt::format("{} units", detail->hardware.machine.units), stem_of(layers));
  add(p, of_chip("cycles"), cycles);
  add(p, of_chip("chip_energy"), energy * 1e-6);
  p.detail = std::move(detail);
  return p;
}

// Refuses keys of another convention.
void check_convention(const AcceleratorQuestion& q) {
  if (!q.buffers.empty() && q.convention != "exact")
    throw InputError("accelerator: --buffers belongs to --convention exact");
  if (q.convention == "timeloop") return;
  if (!q.einsum.empty()) {
    throw InputError(
        fmt::format("accelerator: --einsum belongs to --convention timeloop; {} takes all einsums",
                    q.convention));
  }
  if (!q.sparse.empty()) throw InputError("accelerator: --sparse belongs to --convention timeloop");
}

}  // namespace

Point answer_accelerator(const Bundle& bundle, const AcceleratorQuestion& q) {
  if (q.ask == "map") return searched(bundle, q);
  if (q.ask == "systolic") return systolic(q);
  if (q.ask == "directives") return directives(q);
  check_convention(q);
  if (q.convention == "looptree") return cascade(bundle, q);
  if (q.convention == "exact") return exact(bundle, q);
  return evaluated(bundle, q);
}

std::span<const Figure> accelerator_figures() { return kFiguresOfChips; }

}  // namespace orrery
