#include "apps/cli/verbs/cascade_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery::cli {
namespace {

// A document from a file, or from the bundled folder below accelerators/.
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

void require_fit(const CascadeQuestion& q) {
  std::string reasons;
  for (const Overflow& o : overflows(q.chip, q.cascade, q.mapping)) {
    reasons += (reasons.empty() ? "" : "\n") + to_text(o, q.chip, q.cascade);
  }
  if (!reasons.empty()) throw Infeasible(reasons);
}

}  // namespace

CascadeQuestion read_cascade_question(const std::string& arch, const std::string& workload,
                                      const std::string& mapping, const Bundle& bundle) {
  CascadeQuestion q;
  q.chip = read_chip(read_document_or_bundled(arch, "hierarchies", bundle));
  q.cascade = read_cascade(read_document_or_bundled(workload, "workloads", bundle));
  q.mapping = read_looptree_text(read_text_file(mapping), mapping, 1, q.cascade, q.chip);
  require_fit(q);
  return q;
}

}  // namespace orrery::cli
