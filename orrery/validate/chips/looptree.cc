#include "orrery/validate/chips/looptree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/accelerator/mapping/cascade_mapping.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/validate/rows/optimal_rows.h"

namespace orrery {
namespace {

constexpr const char* kOptimalTable = "optimal_mappings";

void add_optimal_row(const char* metric, const std::string& row, double measured, double predicted,
                     ValidationReport& report) {
  ValidationRow r;
  r.by = {{"table", kOptimalTable}, {"metric", metric}};
  r.row = r.what = row;
  r.measured = measured;
  r.predicted = r.low50 = r.high50 = r.low90 = r.high90 = predicted;
  r.origin = Origin::kExact;
  report.rows.push_back(std::move(r));
}

// Entries of a folder of the catalog.
template <class Read>
auto read_all(const Bundle& bundle, const char* folder, const Read& read) {
  std::vector<decltype(read(Node()))> all;
  for (const std::string& path : bundle.list(folder, ".yaml")) {
    const auto file = bundle.find(path);
    all.push_back(read(parse_yaml(file->content, file->name)));
  }
  return all;
}

// How well a label calls an entry: the letters of the longest name of it that the label has. The
// chip is called by the beginning of its name as well ("tpu" of tpu_v4i).
std::size_t called(const std::string& label, const std::string& name) {
  return label.find(name) != std::string::npos ? name.size() : 0;
}
std::size_t called(const std::string& label, const Chip& chip) {
  const std::size_t whole = called(label, chip.name);
  return whole != 0 ? whole : called(label, chip.name.substr(0, chip.name.find('_')));
}
std::size_t called(const std::string& label, const Cascade& cascade) {
  std::size_t best = called(label, cascade.name);
  for (const std::string& alias : cascade.aliases) best = std::max(best, called(label, alias));
  return best;
}

template <class Entry>
const Entry& chosen(const std::vector<Entry>& all, const std::string& label, const char* what) {
  const auto best = std::max_element(all.begin(), all.end(), [&](const Entry& a, const Entry& b) {
    return called(label, a) < called(label, b);
  });
  if (best == all.end() || called(label, *best) == 0) {
    throw InputError(fmt::format("no {} of the catalog is named in '{}'", what, label));
  }
  return *best;
}

// Bits of an action as counted here; nothing if there is no such action.
std::optional<double> count_of(const OptimalAction& a, const Chip& chip, const Cascade& cascade,
                               const CascadeCost& cost) {
  const int step = cascade.find(a.einsum);
  if (step < 0) return std::nullopt;
  const std::size_t s = static_cast<std::size_t>(step);
  if (a.action == "compute") return cascade.steps[s].copy ? 0 : cost.counts[s].operations;
  const Einsum& einsum = cascade.steps[s].einsum;
  for (const HolderCounts& h : cost.counts[s].holders) {
    const StorageLevel& level = chip.levels[index(h.level)];
    const EinsumTensor& tensor = einsum.tensors[index(h.tensor)];
    if (level.name != a.component || tensor.name != a.tensor) continue;
    return (a.action == "read" ? h.reads : h.writes) * element_bits(level, tensor);
  }
  return std::nullopt;
}

void judge_record(const OptimalRecord& r, const std::string& file, const std::vector<Chip>& chips,
                  const std::vector<Cascade>& cascades, ValidationReport& report) {
  const Chip& chip = chosen(chips, r.label, "chip");
  const Cascade& cascade = chosen(cascades, r.label, "workload");
  const CascadeMapping mapping = read_looptree_text(r.text, file, r.line, cascade, chip);
  const CascadeCost cost = cost_cascade(chip, cascade, mapping);
  add_optimal_row("energy", r.label, r.energy, cost.energy, report);
  add_optimal_row("latency", r.label, r.seconds, cost.seconds, report);
  add_optimal_row("fits", r.label, 1, overflows(chip, cascade, mapping).empty() ? 1 : 0, report);
  if (r.actions.empty()) return;
  double equal = 0;
  for (const OptimalAction& a : r.actions) {
    const std::optional<double> ours = count_of(a, chip, cascade, cost);
    equal += ours && std::abs(*ours - a.count) <= 1e-6 * a.count ? 1 : 0;
  }
  add_optimal_row("actions", r.label, real(r.actions.size()), equal, report);
}

}  // namespace

void judge_optimal_mappings(const std::filesystem::path& file, const Bundle& bundle,
                            ValidationReport& report) {
  const ComponentLibrary library(bundle);
  const std::vector<Chip> chips =
      read_all(bundle, "accelerators/hierarchies",
               [&](const Node& document) { return read_chip(document, &library); });
  const std::vector<Cascade> cascades = read_all(bundle, "accelerators/workloads", read_cascade);
  for (const OptimalRecord& r : read_optimal_records(file)) {
    try {
      judge_record(r, file.filename().string(), chips, cascades, report);
    } catch (const InputError& error) {
      report.refused.push_back({r.label, error.what()});
    }
  }
}

}  // namespace orrery
