#include "orrery/accelerator/sparse/timeloop_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "orrery/accelerator/mapping/timeloop_text.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

std::string plain(std::string s) {
  std::replace(s.begin(), s.end(), '-', '_');
  return s;
}

const Node* find_plain(const Node& map, const char* key) {
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    if (plain(map.keys()[i]) == key) return &map.items()[i];
  }
  return nullptr;
}

const Node& at_plain(const Node& map, const char* key) {
  const Node* found = find_plain(map, key);
  return found != nullptr ? *found : map.at(key);
}

void expect_keys(const Node& map, const std::vector<std::string>& known) {
  if (!map.is_map()) map.fail(fmt::format("expected a map with {}", fmt::join(known, ", ")));
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string key = plain(map.keys()[i]);
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    map.items()[i].fail(fmt::format("unknown key; expected one of {}{}", fmt::join(known, ", "),
                                    did_you_mean(key, known)));
  }
}

const std::vector<Node>& list_of(const Node& node) {
  if (!node.is_list()) node.fail("expected a list");
  return node.items();
}

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}

int tensor_of(const Einsum& problem, const Node& name) {
  return index_of_name(names_of(problem.tensors), name.as_string(), name, "tensor");
}

double share_of(const Node& node) {
  const double share = node.as_double();
  if (share < 0 || share > 1) node.fail("expected a share from 0 to 1");
  return share;
}

std::map<double, MeasuredTile> read_measured(const Node& list) {
  std::map<double, MeasuredTile> tiles;
  for (const Node& tile : list_of(list)) {
    expect_keys(tile, {"words", "empty", "density"});
    const double words = tile.at("words").as_double();
    if (words < 1) tile.at("words").fail("expected at least 1");
    tiles[words] = {share_of(tile.at("empty")), share_of(tile.at("density"))};
  }
  return tiles;
}

Density read_density(const Node& node, double words) {
  Density d;
  d.tensor_words = words;
  d.kind = Density::Kind::kFixedStructured;
  if (!node.is_map()) {
    d.density = share_of(node);
    return d;
  }
  expect_keys(node, {"distribution", "density", "band_width", "workload_tensor_size", "tiles"});
  const Node& distribution = node.at("distribution");
  const std::string name = plain(distribution.as_string());
  if (name == "banded" || name == "diagonal") {
    d.kind = Density::Kind::kBanded;
    if (const Node* width = find_plain(node, "band_width")) d.half_width = width->as_int();
    if (d.half_width < 0) node.fail("expected a band_width of at least 0");
    return d;
  }
  if (name == "measured") {
    d.kind = Density::Kind::kMeasured;
    d.measured = read_measured(node.at("tiles"));
    if (const Node* share = node.find("density")) d.density = share_of(*share);
    return d;
  }
  if (name == "hypergeometric") {
    d.kind = Density::Kind::kHypergeometric;
    if (const Node* size = find_plain(node, "workload_tensor_size")) {
      if (size->as_double() >= 1) d.tensor_words = std::max(words, size->as_double());
    }
  } else if (name != "fixed_structured" && name != "fixed") {
    distribution.fail("expected fixed_structured, hypergeometric, banded or measured");
  }
  d.density = share_of(node.at("density"));
  return d;
}

RankFormat format_of(const Node& node) {
  std::string name = node.as_string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (name == "U") return RankFormat::kUncompressed;
  if (name == "UB") return RankFormat::kUncompressedBitmask;
  if (name == "UOP") return RankFormat::kOffsetPairs;
  if (name == "B") return RankFormat::kBitmask;
  if (name == "CP") return RankFormat::kCoordinates;
  if (name == "RLE") return RankFormat::kRunLength;
  node.fail("expected a format (U, UB, UOP, B, CP, RLE)");
}

double bits_of(const Node& rank, const char* key, double otherwise) {
  const Node* node = find_plain(rank, key);
  if (node == nullptr || node->is_null()) return otherwise;
  const double bits = node->as_double();
  if (bits < 0 || bits > 64) node->fail("expected 0 to 64 bits");
  return bits;
}

RankStorage read_rank(const Node& node, const Einsum& problem) {
  expect_keys(node, {"format", "flattened_rankids", "flattened_rankIDs", "flattened_rank_ids",
                     "metadata_word_bits", "payload_word_bits"});
  RankStorage rank;
  rank.format = format_of(node.at("format"));
  // Below 0: the width is that of the memory.
  const double own = rank.format == RankFormat::kBitmask ? 1 : -1;
  rank.metadata_bits = bits_of(node, "metadata_word_bits", own);
  rank.payload_bits = bits_of(node, "payload_word_bits", -1);
  for (const char* key : {"flattened_rankIDs", "flattened_rankids", "flattened_rank_ids"}) {
    const Node* lists = find_plain(node, key);
    if (lists == nullptr || lists->is_null()) continue;
    for (const Node& list : list_of(*lists)) {
      std::vector<int> dims;
      for (const Node& dim : list_of(list)) {
        dims.push_back(index_of_name(problem.dims, dim.as_string(), dim, "dimension"));
      }
      rank.flattened.push_back(std::move(dims));
    }
  }
  return rank;
}

void read_formats(const Node& formats, std::size_t level, const Einsum& problem,
                  SparseDesign& out) {
  expect_keys(formats, {"data_spaces"});
  for (const Node& tensor : list_of(at_plain(formats, "data_spaces"))) {
    expect_keys(tensor, {"name", "ranks", "rank_application_order"});
    TensorStorage storage;
    if (const Node* order = find_plain(tensor, "rank_application_order")) {
      const std::string text = plain(order->as_string());
      if (text != "inner_to_outer" && text != "outer_to_inner") {
        order->fail("expected inner_to_outer or outer_to_inner");
      }
      storage.inner_to_outer = text == "inner_to_outer";
    }
    for (const Node& rank : list_of(tensor.at("ranks"))) {
      storage.ranks.insert(storage.ranks.begin(), read_rank(rank, problem));
    }
    for (std::size_t r = 1; r < storage.ranks.size(); ++r) {
      if (compresses(storage.ranks[r].format) && !compresses(storage.ranks[r - 1].format)) {
        tensor.at("ranks").fail("expected no compressed rank outside of an uncompressed one");
      }
    }
    const auto uncompressed = [](const RankStorage& r) {
      return r.format == RankFormat::kUncompressed;
    };
    if (std::all_of(storage.ranks.begin(), storage.ranks.end(), uncompressed)) {
      storage.ranks.clear();
    }
    out.storage[level][index(tensor_of(problem, tensor.at("name")))] = std::move(storage);
  }
}

SparseOption read_option(const Node& option, const Einsum& problem) {
  SparseOption o;
  o.target = tensor_of(problem, option.at("target"));
  for (const Node& c : list_of(at_plain(option, "condition_on"))) {
    o.conditions.push_back(tensor_of(problem, c));
  }
  return o;
}

void read_actions(const Node& list, int level, const Einsum& problem, SparseDesign& out) {
  for (const Node& action : list_of(list)) {
    expect_keys(action, {"type", "options", "target", "condition_on"});
    SparseAction a;
    a.level = level;
    const Node& type = action.at("type");
    const std::string name = plain(type.as_string());
    if (name == "skipping_spatial" || name == "spatial_skipping") {
      type.fail("skipping of instances of an array is not modelled; expected gating or skipping");
    }
    if (name != "gating" && name != "skipping") type.fail("expected gating or skipping");
    a.kind = name == "gating" ? SparseAction::Kind::kGate : SparseAction::Kind::kSkip;
    if (const Node* options = action.find("options")) {
      for (const Node& option : list_of(*options)) {
        expect_keys(option, {"target", "condition_on"});
        a.options.push_back(read_option(option, problem));
      }
    } else {
      a.options.push_back(read_option(action, problem));
    }
    out.actions.push_back(std::move(a));
  }
}

void read_compute(const Node& list, SparseDesign& out) {
  for (const Node& action : list_of(list)) {
    const Node& type = action.at("type");
    const std::string name = plain(type.as_string());
    if (name == "gating" || name == "gate_on_zero_operand") {
      out.gate_compute = true;
    } else if (name == "skipping" || name == "skip_on_not_aligned_operands") {
      out.skip_compute = true;
    } else {
      type.fail("expected gating or skipping");
    }
  }
}

// `owner` is the component that the target names, `place` where it does so.
void read_target(const Node& target, const std::string& owner, const Node& place,
                 const Einsum& problem, const Chip& chip, SparseDesign& out) {
  expect_keys(target, {"name", "representation_format", "compression", "action_optimization",
                       "compute_optimization"});
  const auto is_set = [](const Node* node) { return node != nullptr && !node->is_null(); };
  if (const Node* list = find_plain(target, "compute_optimization"); is_set(list)) {
    if (owner != chip.compute.name) {
      place.fail(fmt::format("expected the compute units {}", chip.compute.name));
    }
    read_compute(*list, out);
  }
  if (owner == chip.compute.name) {
    if (const Node* list = find_plain(target, "action_optimization"); is_set(list)) {
      list->fail("expected compute_optimization for compute units");
    }
    return;
  }
  const int level = index_of_name(names_of(chip.levels), owner, place, "level");
  for (const char* key : {"representation_format", "compression"}) {
    if (const Node* formats = find_plain(target, key); is_set(formats)) {
      read_formats(*formats, static_cast<std::size_t>(level), problem, out);
    }
  }
  if (const Node* list = find_plain(target, "action_optimization"); is_set(list)) {
    read_actions(*list, level, problem, out);
  }
}

}  // namespace

SparseDesign read_timeloop_sparse(const Node& instance, const Node* optimizations,
                                  const Einsum& problem, const Chip& chip) {
  SparseDesign out;
  out.densities.resize(problem.tensors.size());
  out.storage.assign(chip.levels.size(), std::vector<TensorStorage>(problem.tensors.size()));
  for (const StorageLevel& level : chip.levels) {
    MemoryEnergies e;
    e.read.random = level.energy.read;
    e.fill.random = level.energy.write;
    e.update.random = level.energy.update;
    out.energies.push_back(e);
  }
  out.metadata.resize(chip.levels.size());
  out.compute = {chip.compute.energy, chip.compute.energy, chip.compute.energy};
  const auto words_of = [&](std::size_t t) {
    return tile_words(problem.tensors[t], problem.sizes);
  };
  if (const Node* common = instance.find("commonDensity")) {
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      out.densities[t] = read_density(*common, words_of(t));
    }
  } else if (const Node* densities = instance.find("densities")) {
    if (!densities->is_map()) densities->fail("expected a map of tensors");
    const std::vector<std::string> names = names_of(problem.tensors);
    for (std::size_t i = 0; i < densities->keys().size(); ++i) {
      const int t = index_of_name(names, densities->keys()[i], densities->items()[i], "tensor");
      const auto tensor = static_cast<std::size_t>(t);
      out.densities[tensor] = read_density(densities->items()[i], words_of(tensor));
    }
  }
  if (optimizations == nullptr) return out;
  const Node* inside = find_plain(*optimizations, "sparse_optimizations");
  const Node& root = inside != nullptr ? *inside : *optimizations;
  for (const Node& target : list_of(root.at("targets"))) {
    const Node& name = target.at("name");
    read_target(target, name.as_string(), name, problem, chip, out);
  }
  return out;
}

void add_component_designs(const std::vector<ComponentNodes>& components, const Einsum& problem,
                           const Chip& chip, SparseDesign& design) {
  for (const ComponentNodes& c : components) {
    if (c.sparse.is_null()) continue;
    read_target(c.sparse, c.name, c.sparse, problem, chip, design);
  }
}

}  // namespace orrery
