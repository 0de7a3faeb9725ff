#include "orrery/scenario/kinds/accelerator/cascade_files.h"

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
#include "orrery/scenario/kind/given_text.h"

namespace orrery {

namespace {

// Whether the text has this key at the beginning of a line, as documents of other tools have.
bool has_top_key(const std::string& text, const std::string& key) {
  return text.starts_with(key + ":") || text.find("\n" + key + ":") != std::string::npos;
}

// The text of a file that is AccelForge's by its key; empty if it is another or none.
std::string accelforge_text(const std::string& name, const std::string& key) {
  if (!names_text(name)) return "";
  const std::string text = given_text(name);
  return has_top_key(text, key) ? text : "";
}

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
  return names_text(arch) && has_top_key(given_text(arch), "architecture");
}

void require_fit(const CascadeQuestion& q) {
  std::string reasons;
  for (const Overflow& o : overflows(q.chip, q.cascade, q.mapping)) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(o, q.chip, q.cascade);
  }
  if (!reasons.empty()) throw Infeasible(reasons);
}

}  // namespace

std::string stem_of(const std::string& name) {
  return is_given_text(name) ? "chip" : std::filesystem::path(name).stem().string();
}

Node read_document_or_bundled(const std::string& name, const std::string& folder,
                              const Bundle& bundle) {
  if (names_text(name)) return given_document(name, "accelerator");
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

CascadeQuestion read_cascade_question(const AcceleratorQuestion& files, const Bundle& bundle) {
  if (!files.energies.empty()) {
    throw InputError(
        "accelerator: --energies belongs to Timeloop's architectures; this one has its energies");
  }
  CascadeQuestion q;
  const TemplateValues values = template_values(files.defines);
  const std::string workload = accelforge_text(files.workload, "workload");
  q.cascade = workload.empty()
                  ? read_cascade(read_document_or_bundled(files.workload, "workloads", bundle))
                  : read_accelforge_workload(
                        parse_accelforge(
                            workload, given_name(files.workload, "accelerator.workload"), values),
                        stem_of(files.workload));
  const std::string arch = accelforge_text(files.arch, "arch");
  const ComponentLibrary library(bundle);
  q.chip = arch.empty()
               ? read_chip(read_document_or_bundled(files.arch, "hierarchies", bundle), &library)
               : read_accelforge_architecture(
                     parse_accelforge(arch, given_name(files.arch, "accelerator.arch"), values),
                     role_bits(q.cascade), stem_of(files.arch));
  const std::string mapping = given_text(files.mapping);
  q.mapping =
      has_top_key(mapping, "mapping")
          ? read_accelforge_mapping(
                parse_accelforge(mapping, given_name(files.mapping, "accelerator.mapping"), values),
                q.cascade, q.chip)
          : read_looptree_text(mapping, given_name(files.mapping, "accelerator.mapping"), 1,
                               q.cascade, q.chip);
  require_fit(q);
  return q;
}

CascadeQuestion read_exact_question(const AcceleratorQuestion& files, const Bundle& bundle) {
  if (!is_timeloop(files.arch)) return read_cascade_question(files, bundle);
  CascadeQuestion q;
  q.timeloop = true;
  const Node energies =
      files.energies.empty() ? Node() : given_document(files.energies, "accelerator.energies");
  const ComponentLibrary library(bundle);
  TimeloopArchitecture a = read_timeloop_architecture(
      given_document(files.arch, "accelerator.arch"), files.energies.empty() ? nullptr : &energies,
      &library, stem_of(files.arch));
  q.chip = std::move(a.chip);
  q.energies = a.energies;
  CascadeStep step;
  step.einsum = read_timeloop_problem(given_document(files.workload, "accelerator.workload"));
  if (step.einsum.name.empty()) step.einsum.name = "operation";
  const Mapping mapping = read_timeloop_mapping(
      given_document(files.mapping, "accelerator.mapping"), step.einsum, q.chip);
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

}  // namespace orrery
