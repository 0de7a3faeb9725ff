#include "orrery/scenario/kinds/accelerator/nest_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/problem/cascade.h"
#include "orrery/accelerator/problem/op_einsums.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/kind/given_text.h"
#include "orrery/scenario/kinds/accelerator/cascade_files.h"
#include "orrery/workload/inference/program.h"

namespace orrery {
namespace {

TimeloopArchitecture read_arch(const std::string& name, const std::string& energies,
                               const Bundle& bundle) {
  const Node document = read_document_or_bundled(name, "hierarchies", bundle);
  const ComponentLibrary library(bundle);
  if (is_chip(document)) {
    if (!energies.empty()) {
      throw InputError(fmt::format(
          "accelerator: --energies belongs to a Timeloop architecture; {} has its energies", name));
    }
    return {read_chip(document, &library), true, has_components(document), {}};
  }
  const Node table = energies.empty() ? Node() : given_document(energies, "accelerator.energies");
  return read_timeloop_architecture(document, energies.empty() ? nullptr : &table, &library,
                                    stem_of(name));
}

Cascade op_of_model(const ModelOp& m, const Bundle& bundle) {
  const Architecture model = load_model(m.model, bundle);
  const bool decode = m.phase == "decode";
  ParallelPlan plan;
  plan.tp = m.tp;
  const SequenceGroup group{m.batch, decode ? 1 : m.isl, decode ? real(m.isl) : 0};
  const Program program = forward_program(model, plan, native_precision(model), {{group}});
  std::vector<std::string> names;
  const Op* found = nullptr;
  for (const ProgramOp& op : program.ops) {
    const std::string name(op.name);
    if (name == m.op && found == nullptr) found = &op.op;
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (!known && einsums_of(op.op, name)) names.push_back(name);
  }
  if (found != nullptr) {
    if (std::optional<Cascade> cascade = einsums_of(*found, fmt::format("{} {}", model.id, m.op))) {
      return std::move(*cascade);
    }
  }
  throw InputError(fmt::format("accelerator: --op: {} {}; expected one of {}{}", m.op,
                               found == nullptr
                                   ? fmt::format("is no op of {} in {}", m.model, m.phase)
                                   : std::string("is no einsum"),
                               fmt::join(names, ", "), did_you_mean(m.op, names)));
}

Einsum chosen_einsum(Cascade cascade, const std::string& name, const std::string& einsum);

Einsum read_einsum(const std::string& name, const std::string& einsum, const Bundle& bundle) {
  const Node document = read_document_or_bundled(name, "workloads", bundle);
  if (document.find("einsums") == nullptr) {
    if (!einsum.empty()) {
      throw InputError(fmt::format("accelerator: --einsum: {} has one operation", name));
    }
    return read_timeloop_problem(document);
  }
  return chosen_einsum(read_cascade(document), name, einsum);
}

Einsum chosen_einsum(Cascade cascade, const std::string& name, const std::string& einsum) {
  std::vector<std::string> names;
  for (const CascadeStep& step : cascade.steps) names.push_back(step.einsum.name);
  if (einsum.empty() && names.size() > 1) {
    throw InputError(fmt::format("accelerator: {} has {} einsums; choose one with --einsum ({})",
                                 name, names.size(), fmt::join(names, ", ")));
  }
  const int chosen = einsum.empty() ? 0 : cascade.find(einsum);
  if (chosen < 0) {
    throw InputError(fmt::format("accelerator: --einsum: expected {}, got '{}'{}",
                                 fmt::join(names, ", "), einsum, did_you_mean(einsum, names)));
  }
  Einsum e = std::move(cascade.steps[index(chosen)].einsum);
  e.name = names.size() > 1 ? fmt::format("{} {}", cascade.name, e.name) : cascade.name;
  return e;
}

// The sparse design of the files; absent where they state none.
std::optional<SparseDesign> read_design(const AcceleratorQuestion& files, const NestQuestion& q,
                                        const Bundle& bundle) {
  const auto stated = [](const Node& document) {
    const Node* design = document.find("sparse_optimizations");
    return design != nullptr && !design->is_null();
  };
  const Node arch = read_document_or_bundled(files.arch, "hierarchies", bundle);
  const Node own =
      files.sparse.empty() ? Node() : given_document(files.sparse, "accelerator.sparse");
  const Node* design = !files.sparse.empty() ? &own : stated(arch) ? &arch : nullptr;
  const Node workload = files.workload.empty()
                            ? Node()
                            : read_document_or_bundled(files.workload, "workloads", bundle);
  const Node* problem = workload.find("problem");
  const Node* instance = (problem != nullptr ? *problem : workload).find("instance");
  const Node none;
  const Node& densities = instance != nullptr ? *instance : none;
  const std::vector<ComponentNodes>& components = q.architecture.components;
  const bool stated_inside =
      std::any_of(components.begin(), components.end(),
                  [](const ComponentNodes& c) { return !c.sparse.is_null(); });
  if (design == nullptr && !stated_inside && densities.find("densities") == nullptr &&
      densities.find("commonDensity") == nullptr) {
    return std::nullopt;
  }
  SparseDesign out = read_timeloop_sparse(densities, design, q.problem, q.architecture.chip);
  add_component_designs(components, q.problem, q.architecture.chip, out);
  add_component_details(components, out);
  return out;
}

NestQuestion read_dense_question(const AcceleratorQuestion& files, const Bundle& bundle) {
  const ModelOp& m = files.model_op;
  if (!files.workload.empty()) {
    if (!m.model.empty() || !m.op.empty()) {
      throw InputError("accelerator: give --workload, or --model and --op");
    }
    return {read_arch(files.arch, files.energies, bundle),
            read_einsum(files.workload, files.einsum, bundle), std::nullopt};
  }
  if (m.model.empty() || m.op.empty()) {
    throw InputError(
        "accelerator: expected --workload, or --model and --op, such as --model llama-3-8b "
        "--op qkv_proj");
  }
  return {read_arch(files.arch, files.energies, bundle),
          chosen_einsum(op_of_model(m, bundle), m.op, files.einsum), std::nullopt};
}

}  // namespace

NestQuestion read_nest_question(const AcceleratorQuestion& files, const Bundle& bundle) {
  NestQuestion q = read_dense_question(files, bundle);
  q.sparse = read_design(files, q, bundle);
  return q;
}

}  // namespace orrery
