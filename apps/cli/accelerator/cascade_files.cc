#include "apps/cli/accelerator/cascade_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "orrery/accelerator/architecture/accelforge_architecture.h"
#include "orrery/accelerator/architecture/timeloop_tree.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/count/validity.h"
#include "orrery/accelerator/mapping/accelforge_mapping.h"
#include "orrery/accelerator/mapping/timeloop_mapping.h"
#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/accelerator/problem/accelforge_workload.h"
#include "orrery/accelerator/problem/timeloop_problem.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery::cli {

namespace {

// Whether the text has this key at the beginning of a line, as documents of other tools have.
bool has_top_key(const std::string& text, const std::string& key) {
  return text.starts_with(key + ":") || text.find("\n" + key + ":") != std::string::npos;
}

// The text of a file that is AccelForge's by its key; empty if it is another or none.
std::string accelforge_text(const std::string& name, const std::string& key) {
  if (!std::filesystem::exists(name)) return "";
  const std::string text = read_text_file(name);
  return has_top_key(text, key) ? text : "";
}

std::string stem_of(const std::string& name) { return std::filesystem::path(name).stem().string(); }

TemplateValues template_values(const std::vector<std::string>& defines) {
  TemplateValues values;
  for (const std::string& d : defines) {
    const std::size_t equals = d.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw InputError(fmt::format("accelerator: --define: expected NAME=VALUE, got '{}'", d));
    }
    values[d.substr(0, equals)] = d.substr(equals + 1);
  }
  return values;
}

// The bits of the widest tensor of each role.
std::map<std::string, int> role_bits(const Cascade& cascade) {
  std::map<std::string, int> bits;
  for (const CascadeStep& step : cascade.steps) {
    for (const EinsumTensor& t : step.einsum.tensors) {
      int& widest = bits[t.output ? "output" : t.role];
      widest = std::max(widest, t.bits);
    }
  }
  return bits;
}

bool is_timeloop(const std::string& arch) {
  return std::filesystem::exists(arch) && has_top_key(read_text_file(arch), "architecture");
}

void require_fit(const CascadeQuestion& q) {
  std::string reasons;
  for (const Overflow& o : overflows(q.chip, q.cascade, q.mapping)) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(o, q.chip, q.cascade);
  }
  if (!reasons.empty()) throw Infeasible(reasons);
}

}  // namespace

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
      fmt::format("{}: no such file, and no bundled one of this name (orrery knows {}){}", name,
                  fmt::join(known, ", "), did_you_mean(name, known)));
}

CascadeQuestion read_cascade_question(const CascadeFiles& files, const Bundle& bundle) {
  if (!files.energies.empty()) {
    throw InputError(
        "accelerator: --energies belongs to Timeloop's architectures; this one has its energies");
  }
  CascadeQuestion q;
  const TemplateValues values = template_values(files.defines);
  const std::string workload = accelforge_text(files.workload, "workload");
  q.cascade = workload.empty()
                  ? read_cascade(read_document_or_bundled(files.workload, "workloads", bundle))
                  : read_accelforge_workload(parse_accelforge(workload, files.workload, values),
                                             stem_of(files.workload));
  const std::string arch = accelforge_text(files.arch, "arch");
  const ComponentLibrary library(bundle);
  q.chip = arch.empty()
               ? read_chip(read_document_or_bundled(files.arch, "hierarchies", bundle), &library)
               : read_accelforge_architecture(parse_accelforge(arch, files.arch, values),
                                              role_bits(q.cascade), stem_of(files.arch));
  const std::string mapping = read_text_file(files.mapping);
  q.mapping = has_top_key(mapping, "mapping")
                  ? read_accelforge_mapping(parse_accelforge(mapping, files.mapping, values),
                                            q.cascade, q.chip)
                  : read_looptree_text(mapping, files.mapping, 1, q.cascade, q.chip);
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
