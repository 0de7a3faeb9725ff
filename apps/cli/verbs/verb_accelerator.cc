// orrery accelerator: mappings of a tensor operation on a custom chip.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/accelerator/accelerator_page.h"
#include "apps/cli/accelerator/cascade_files.h"
#include "apps/cli/accelerator/fixed_verbs.h"
#include "apps/cli/accelerator/nest_files.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/evaluate.h"
#include "orrery/accelerator/cost/mapping_svg.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/search/mapper.h"
#include "orrery/accelerator/search/mapspace.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"

namespace orrery::cli {
namespace {

struct AcceleratorOptions {
  NestFiles nest;
  std::string mapping, constraints;
  std::string mapper = "random-search", objective = "edp";
  MapperOptions search;
  std::string convention = "timeloop", buffers, svg, html, output = "table";
  std::vector<std::string> defines;
};

NestQuestion question_of(const AcceleratorOptions& o, const Bundle& bundle) {
  return read_nest_question(o.nest, bundle);
}

CascadeFiles files_of(const AcceleratorOptions& o) {
  return {o.nest.arch, o.nest.workload, o.mapping, o.nest.energies, o.defines};
}

template <class Answer>
void write_page(const AcceleratorOptions& o, const Answer& a) {
  if (!o.html.empty()) write_file(o.html, page(a), "--html");
}

void write_drawings(const AcceleratorOptions& o, const AcceleratorAnswer& a) {
  write_page(o, a);
  if (o.svg.empty()) return;
  write_file(o.svg,
             draw_mapping_svg(a.architecture.chip, a.problem, a.mapping, a.evaluation.counts),
             "--svg");
}

void print_cascade(const AcceleratorOptions& o, bool explained, const Bundle& bundle) {
  const CascadeQuestion q = read_cascade_question(files_of(o), bundle);
  const CascadeCost cost = cost_cascade(q.chip, q.cascade, q.mapping);
  const CascadeAnswer answer{q.chip, q.cascade, q.mapping, cost};
  write_page(o, answer);
  if (o.output == "json") return fmt::print("{}\n", to_json(answer).dump(1));
  fmt::print("{}", explained ? explanation(answer) : summary(answer));
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

void print_exact(const AcceleratorOptions& o, bool explained, const Bundle& bundle) {
  const CascadeQuestion q = read_exact_question(files_of(o), bundle);
  const ExactOptions options{o.buffers != "single", q.timeloop};
  const ExactCascadeCost cost = cost_exact_cascade(q.chip, q.cascade, q.mapping, options);
  require_exact_fit(q, cost, options);
  const OtherConvention other = other_convention(q, cost);
  const ExactAnswer answer{q.chip, q.cascade, q.mapping, options, cost, other, q.energies};
  write_page(o, answer);
  if (o.output == "json") return fmt::print("{}\n", to_json(answer).dump(1));
  fmt::print("{}", explained ? explanation(answer) : summary(answer));
}

void print_evaluation(const AcceleratorOptions& o, bool explained, const Bundle& bundle) {
  if (!o.buffers.empty() && o.convention != "exact") {
    throw InputError("accelerator: --buffers belongs to --convention exact");
  }
  if (!o.nest.einsum.empty() && o.convention != "timeloop") {
    throw InputError(
        fmt::format("accelerator: --einsum belongs to --convention timeloop; {} takes all einsums",
                    o.convention));
  }
  if (!o.nest.sparse.empty() && o.convention != "timeloop") {
    throw InputError("accelerator: --sparse belongs to --convention timeloop");
  }
  if (!o.svg.empty() && o.convention != "timeloop") {
    throw InputError("accelerator: --svg draws mappings of --convention timeloop");
  }
  if (o.convention == "looptree") return print_cascade(o, explained, bundle);
  if (o.convention == "exact") return print_exact(o, explained, bundle);
  NestQuestion q = question_of(o, bundle);
  const Chip& chip = q.architecture.chip;
  const Node directives = read_document(o.mapping);
  const Mapping mapping = read_timeloop_mapping(directives, q.problem, chip);
  SparseCounts sparse;
  if (q.sparse) add_loop_orders(directives, q.problem, chip, *q.sparse);
  const Evaluation e = q.sparse ? evaluate_sparse(chip, q.problem, mapping, *q.sparse, sparse)
                                : evaluate(chip, q.problem, mapping);
  const AcceleratorAnswer answer{q.architecture, q.problem, mapping, e,
                                 q.sparse ? &sparse : nullptr};
  write_drawings(o, answer);
  if (o.output == "json") return fmt::print("{}\n", to_json(answer).dump(1));
  fmt::print("{}", explained ? explanation(answer) : summary(answer));
}

MappingObjective parse_objective(const std::string& text) {
  if (text == "edp") return MappingObjective::kEnergyDelayProduct;
  if (text == "energy") return MappingObjective::kEnergy;
  if (text == "delay") return MappingObjective::kDelay;
  const std::vector<std::string> names = {"edp", "energy", "delay"};
  throw InputError(
      fmt::format("accelerator: --objective: expected edp, energy or delay, got '{}'{}", text,
                  did_you_mean(text, names)));
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

void print_search(AcceleratorOptions o, const Bundle& bundle) {
  o.search.objective = parse_objective(o.objective);
  const auto mapper = make_mapper(o.mapper);
  const NestQuestion q = question_of(o, bundle);
  if (q.sparse) {
    throw InputError(
        "accelerator map: mappings of sparse designs are evaluated, not searched for; search "
        "without densities and sparse_optimizations, then evaluate the mapping with them");
  }
  const Chip& chip = q.architecture.chip;
  if (!q.architecture.energies && o.search.objective != MappingObjective::kDelay) {
    throw NoData(fmt::format("{}: no energy of {}; give --energies, or search by --objective delay",
                             o.nest.arch, q.architecture.without_energy.front()));
  }
  const MapspaceConstraints constraints =
      o.constraints.empty()
          ? chip_constraints(q.problem, chip)
          : read_timeloop_constraints(read_document(o.constraints), q.problem, chip);
  const MapperResult r = mapper->search(q.problem, chip, constraints, o.search);
  if (!r.found()) throw Infeasible(failures(r, chip));
  const AcceleratorAnswer answer{q.architecture, q.problem, r.best,
                                 evaluate(chip, q.problem, r.best), nullptr};
  write_drawings(o, answer);
  if (o.output == "json") {
    nlohmann::ordered_json json = to_json(answer);
    json["tried"] = r.tried;
    json["valid"] = r.valid;
    return fmt::print("{}\n", json.dump(1));
  }
  fmt::print("{}\nBest of {} valid mappings, {} tried ({}).\n", explanation(answer), r.valid,
             r.tried, o.mapper);
}

void add_files(CLI::App& app, AcceleratorOptions& o) {
  app.add_option("--arch", o.nest.arch,
                 "the chip: the name of a bundled one ('orrery list accelerators'), a chip's file, "
                 "or a Timeloop architecture (v0.3, v0.4)")
      ->required()
      ->type_name("CHIP");
  app.add_option("--workload", o.nest.workload,
                 "the operation: the name of a bundled one, a file of einsums, or a Timeloop "
                 "problem")
      ->type_name("WORKLOAD");
  app.add_option("--model", o.nest.model_op.model,
                 "in place of --workload: a model, of whose step --op is an operation")
      ->type_name("NAME");
  app.add_option("--op", o.nest.model_op.op, "an op of the step, such as qkv_proj or attn_prefill")
      ->type_name("NAME");
  app.add_option("--phase", o.nest.model_op.phase, "prefill or decode")
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->capture_default_str()
      ->type_name("NAME");
  app.add_option("--batch", o.nest.model_op.batch, "sequences of the step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--isl", o.nest.model_op.isl, "tokens of a prompt; in decode before the new one")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--tp", o.nest.model_op.tp, "degree of tensor parallelism of the step")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--einsum", o.nest.einsum, "the einsum of a workload that has several")
      ->type_name("NAME");
  app.add_option("--energies", o.nest.energies,
                 "energy reference table of Accelergy; without it energies are estimated from "
                 "published tables")
      ->type_name("FILE");
  app.add_option("--svg", o.svg, "also draw the mapping: the nest as nested boxes")
      ->type_name("FILE")
      ->group("output");
  app.add_option("--html", o.html, "also write a self-contained page with pictures")
      ->type_name("FILE")
      ->group("output");
  app.add_option("-o,--output", o.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->group("output");
}

}  // namespace

void add_accelerator(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "accelerator",
      "Predicts cycles, energy and area of tensor operations on a chip of your own design.");
  app->require_subcommand(1);
  const auto options = std::make_shared<AcceleratorOptions>();
  for (const bool explained : {false, true}) {
    CLI::App* verb = app->add_subcommand(
        explained ? "explain" : "evaluate",
        explained ? "Shows a mapping level by level: tiles, accesses, and what bounds the cycles"
                  : "Cycles and energy of one mapping");
    add_files(*verb, *options);
    verb->add_option("--mapping", options->mapping,
                     "the mapping: Timeloop directives, or the text of AccelForge")
        ->required()
        ->type_name("FILE");
    verb->add_option("--sparse", options->nest.sparse,
                     "formats, gating and skipping: a Timeloop file of sparse_optimizations")
        ->type_name("FILE");
    verb->add_option("--convention", options->convention,
                     "timeloop; looptree: cascades of einsums with holders anywhere in the nest; "
                     "exact: what the nest does, with filling, draining and waits")
        ->check(CLI::IsMember({"timeloop", "looptree", "exact"}))
        ->capture_default_str()
        ->type_name("NAME");
    verb->add_option("--define", options->defines,
                     "NAME=VALUE of a name in AccelForge's templates; repeatable")
        ->type_name("NAME=VALUE");
    verb->add_option("--buffers", options->buffers,
                     "exact: double (a tile is filled while another is in use) or single [double]")
        ->check(CLI::IsMember({"double", "single"}))
        ->type_name("NAME");
    verb->footer(
        fmt::format("Examples:\n"
                    "  orrery accelerator {} --arch chip.yaml --workload conv.yaml \\\n"
                    "    --mapping map.yaml\n"
                    "  orrery accelerator {} --convention looptree \\\n"
                    "    --arch nvdla --workload matmul_1024 --mapping map.txt",
                    explained ? "explain" : "evaluate", explained ? "explain" : "evaluate"));
    verb->callback([options, explained, &context] {
      print_evaluation(*options, explained, context.bundle());
    });
  }
  CLI::App* map = app->add_subcommand("map", "Searches for a good mapping");
  add_files(*map, *options);
  map->add_option("--constraints", options->constraints, "Timeloop constraints on mappings")
      ->type_name("FILE");
  map->add_option("--mapper", options->mapper, "random-search or hill-climb")
      ->capture_default_str();
  map->add_option("--objective", options->objective, "edp (energy x delay), energy or delay")
      ->capture_default_str();
  map->add_option("--valid", options->search.valid, "valid mappings to evaluate")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  map->add_option("--seed", options->search.seed, "seed of the search")->capture_default_str();
  map->footer(
      "Examples:\n"
      "  orrery accelerator map --arch simba-like --workload resnet50-conv2_3x3\n"
      "  orrery accelerator map --arch tpu_v4i --model llama-3-8b --op qkv_proj\n"
      "  orrery accelerator map --arch chip.yaml --workload conv.yaml \\\n"
      "    --energies ert.yaml --valid 1000\n"
      "  orrery accelerator map --arch chip.yaml --workload conv.yaml \\\n"
      "    --objective delay --valid 100000 --mapper hill-climb");
  map->callback([options, &context] { print_search(*options, context.bundle()); });
  add_systolic(*app);
  add_directives(*app);
  app->footer(
      "Examples:\n"
      "  orrery accelerator map --arch simba-like --workload resnet50-conv2_3x3\n"
      "  orrery accelerator explain --arch chip.yaml --workload conv.yaml \\\n"
      "    --mapping map.yaml\n"
      "  orrery accelerator map --arch chip.yaml --workload conv.yaml \\\n"
      "    --objective delay --valid 100000 --mapper hill-climb");
}

}  // namespace orrery::cli
