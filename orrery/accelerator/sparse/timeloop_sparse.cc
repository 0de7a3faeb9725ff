#include "orrery/accelerator/sparse/timeloop_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace orrery {
namespace {

std::string plain(const Node& node) {
  std::string s = node.as_string();
  std::replace(s.begin(), s.end(), '-', '_');
  return s;
}

template <class List>
int index_of(const List& list, const Node& name, const char* what) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  const auto found = std::find(names.begin(), names.end(), name.as_string());
  if (found == names.end()) {
    name.fail(fmt::format("expected {} ({}), got '{}'{}", what, fmt::join(names, ", "), name.text(),
                          did_you_mean(name.text(), names)));
  }
  return static_cast<int>(found - names.begin());
}

Density read_density(const Node& node, double words) {
  Density d;
  d.tensor_words = words;
  d.kind = Density::Kind::kHypergeometric;
  const Node& share = node.is_map() && node.find("density") != nullptr ? node.at("density") : node;
  if (node.is_map()) {
    const Node& distribution = node.at("distribution");
    const std::string name = plain(distribution);
    if (name == "fixed_structured") {
      d.kind = Density::Kind::kFixedStructured;
    } else if (name == "banded") {
      d.kind = Density::Kind::kBanded;
      d.half_width = node.at("band_width").as_int();
      if (d.half_width < 0) node.at("band_width").fail("expected at least 0");
      return d;
    } else if (name != "hypergeometric") {
      distribution.fail("expected fixed_structured, hypergeometric or banded");
    }
  }
  d.density = share.as_double();
  if (d.density < 0 || d.density > 1) share.fail("expected a density from 0 to 1");
  return d;
}

bool compresses(const Node& format) {
  const std::string& name = format.as_string();
  for (const char* known : {"RLE", "CP", "B"}) {
    if (name == known) return true;
  }
  for (const char* known : {"U", "UB", "UOP"}) {
    if (name == known) return false;
  }
  format.fail("expected a format (U, UB, UOP, B, CP, RLE)");
}

void read_formats(const Node& target, std::size_t level, const Einsum& problem, SparseDesign& out) {
  const Node* formats = target.find("representation_format");
  if (formats == nullptr) return;
  for (const Node& tensor : formats->at("data_spaces").items()) {
    const int t = index_of(problem.tensors, tensor.at("name"), "a tensor");
    for (const Node& rank : tensor.at("ranks").items()) {
      if (compresses(rank.at("format"))) {
        out.compressed[level][static_cast<std::size_t>(t)] = true;
      }
    }
  }
}

SparseAction::Kind kind_of(const Node& type) {
  const std::string& name = type.as_string();
  if (name == "skipping" || name == "spatial_skipping") return SparseAction::Kind::kSkip;
  if (name == "gating") return SparseAction::Kind::kGate;
  type.fail("expected gating or skipping");
}

void read_actions(const Node& list, int level, const Einsum& problem, SparseDesign& out) {
  for (const Node& action : list.items()) {
    for (const Node& option : action.at("options").items()) {
      SparseAction a;
      a.kind = kind_of(action.at("type"));
      a.level = level;
      if (const Node* target = option.find("target")) {
        a.target = index_of(problem.tensors, *target, "a tensor");
      }
      for (const Node& c : option.at("condition_on").items()) {
        a.conditions.push_back(index_of(problem.tensors, c, "a tensor"));
      }
      out.actions.push_back(std::move(a));
    }
  }
}

}  // namespace

SparseDesign read_timeloop_sparse(const Node& instance, const Node* optimizations,
                                  const Einsum& problem, const Chip& chip) {
  SparseDesign out;
  out.densities.resize(problem.tensors.size());
  out.compressed.assign(chip.levels.size(), std::vector<bool>(problem.tensors.size()));
  if (const Node* densities = instance.find("densities")) {
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      if (const Node* d = densities->find(problem.tensors[t].name)) {
        out.densities[t] = read_density(*d, tile_words(problem.tensors[t], problem.sizes));
      }
    }
  }
  if (optimizations == nullptr) return out;
  for (const Node& target : optimizations->at("targets").items()) {
    const Node& name = target.at("name");
    if (name.as_string() == chip.compute.name) {
      const int compute = static_cast<int>(chip.levels.size());
      for (const char* key : {"compute_optimization", "action_optimization"}) {
        if (const Node* list = target.find(key)) read_actions(*list, compute, problem, out);
      }
      continue;
    }
    const int level = index_of(chip.levels, name, "a level");
    read_formats(target, static_cast<std::size_t>(level), problem, out);
    if (const Node* list = target.find("action_optimization")) {
      read_actions(*list, level, problem, out);
    }
  }
  return out;
}

}  // namespace orrery
