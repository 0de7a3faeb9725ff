#include "apps/cli/accelerator/nest_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "apps/cli/accelerator/cascade_files.h"
#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/problem/cascade.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/base/error.h"

namespace orrery::cli {
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
  const Node table = energies.empty() ? Node() : read_document(energies);
  return read_timeloop_architecture(document, energies.empty() ? nullptr : &table, &library,
                                    std::filesystem::path(name).stem().string());
}

Einsum read_einsum(const std::string& name, const std::string& einsum, const Bundle& bundle) {
  const Node document = read_document_or_bundled(name, "workloads", bundle);
  if (document.find("einsums") == nullptr) {
    if (!einsum.empty()) {
      throw InputError(fmt::format("accelerator: --einsum: {} has one operation", name));
    }
    return read_timeloop_problem(document);
  }
  Cascade cascade = read_cascade(document);
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
  Einsum e = std::move(cascade.steps[static_cast<std::size_t>(chosen)].einsum);
  e.name = names.size() > 1 ? fmt::format("{} {}", cascade.name, e.name) : cascade.name;
  return e;
}

}  // namespace

NestQuestion read_nest_question(const std::string& arch, const std::string& energies,
                                const std::string& workload, const std::string& einsum,
                                const Bundle& bundle) {
  return {read_arch(arch, energies, bundle), read_einsum(workload, einsum, bundle)};
}

}  // namespace orrery::cli
