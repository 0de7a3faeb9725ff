#include "apps/cli/accelerator/cascade_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/count/validity.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery::cli {

Node read_document_or_bundled(const std::string& name, const std::string& folder,
                              const Bundle& bundle) {
  if (std::filesystem::exists(name)) return read_document(name);
  if (const auto file = bundle.find("accelerators/" + folder + "/" + name + ".yaml")) {
    return parse_yaml(file->content, file->name);
  }
  std::vector<std::string> known;
  for (const std::string& path : bundle.list("accelerators/" + folder, ".yaml")) {
    known.push_back(std::filesystem::path(path).stem().string());
  }
  throw InputError(
      fmt::format("{}: no such file, and no bundled one of this name (orrery knows {})"
                  "{}",
                  name, fmt::join(known, ", "), did_you_mean(name, known)));
}

namespace {

bool is_timeloop(const std::string& arch) {
  return std::filesystem::exists(arch) && read_document(arch).find("architecture") != nullptr;
}

void require_fit(const CascadeQuestion& q) {
  std::string reasons;
  for (const Overflow& o : overflows(q.chip, q.cascade, q.mapping)) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(o, q.chip, q.cascade);
  }
  if (!reasons.empty()) throw Infeasible(reasons);
}

}  // namespace

CascadeQuestion read_cascade_question(const CascadeFiles& files, const Bundle& bundle) {
  if (!files.energies.empty()) {
    throw InputError(
        "accelerator: --energies belongs to Timeloop's architectures; this one has its energies");
  }
  CascadeQuestion q;
  const ComponentLibrary library(bundle);
  q.chip = read_chip(read_document_or_bundled(files.arch, "hierarchies", bundle), &library);
  q.cascade = read_cascade(read_document_or_bundled(files.workload, "workloads", bundle));
  q.mapping =
      read_looptree_text(read_text_file(files.mapping), files.mapping, 1, q.cascade, q.chip);
  require_fit(q);
  return q;
}

CascadeQuestion read_exact_question(const CascadeFiles& files, const Bundle& bundle) {
  if (!is_timeloop(files.arch)) return read_cascade_question(files, bundle);
  CascadeQuestion q;
  q.timeloop = true;
  const Node energies = files.energies.empty() ? Node() : read_document(files.energies);
  const ComponentLibrary library(bundle);
  TimeloopArchitecture a = read_timeloop_architecture(
      read_document(files.arch), files.energies.empty() ? nullptr : &energies, &library,
      std::filesystem::path(files.arch).stem().string());
  q.chip = std::move(a.chip);
  q.energies = a.energies;
  CascadeStep step;
  step.einsum = read_timeloop_problem(read_document(files.workload));
  if (step.einsum.name.empty()) step.einsum.name = "operation";
  const Mapping mapping = read_timeloop_mapping(read_document(files.mapping), step.einsum, q.chip);
  q.cascade.name = step.einsum.name;
  q.cascade.steps.push_back(std::move(step));
  q.mapping.steps.push_back({mapping, 0, -1});
  std::string reasons;
  for (const Violation& v : fan_out_violations(q.chip, mapping)) {
    reasons +=
        (reasons.empty() ? "" : "\n") + to_text(v, q.cascade.steps[0].einsum, q.chip, NestCounts());
  }
  if (!reasons.empty()) throw Infeasible(reasons);
  return q;
}

}  // namespace orrery::cli
