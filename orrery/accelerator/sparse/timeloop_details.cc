// The part of timeloop_sparse.h that reads components and mapping directives.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "orrery/accelerator/mapping/timeloop_text.h"
#include "orrery/accelerator/sparse/timeloop_sparse.h"

namespace orrery {
namespace {

using Names = std::initializer_list<const char*>;

const Node* first_of(const Node* map, Names names) {
  if (map == nullptr || !map->is_map()) return nullptr;
  for (const char* name : names) {
    const Node* found = map->find(name);
    if (found != nullptr && !found->is_null()) return found;
  }
  return nullptr;
}

double number_of(const Node* map, Names names, double otherwise) {
  const Node* node = first_of(map, names);
  if (node == nullptr) return otherwise;
  const double value = node->as_double();
  if (value < 0) node->fail("expected a number from 0");
  return value;
}

void read_energies(const Node* e, MemoryEnergies& out) {
  out.read = {number_of(e, {"random_read", "read"}, out.read.random),
              number_of(e, {"gated_read"}, 0), number_of(e, {"skipped_read", "gated_read"}, 0)};
  out.fill = {number_of(e, {"random_fill", "random_write", "fill", "write"}, out.fill.random),
              number_of(e, {"gated_fill", "gated_write"}, 0),
              number_of(e, {"skipped_fill", "skipped_write", "gated_fill", "gated_write"}, 0)};
  out.update = {
      number_of(e, {"random_update", "random_write", "update", "write"}, out.update.random),
      number_of(e, {"gated_update", "gated_write"}, 0),
      number_of(e, {"skipped_update", "skipped_write", "gated_update", "gated_write"}, 0)};
  out.metadata_read = {number_of(e, {"random_metadata_read", "metadata_read"}, 0),
                       number_of(e, {"gated_metadata_read"}, 0),
                       number_of(e, {"skipped_metadata_read", "gated_metadata_read"}, 0)};
  out.metadata_fill = {
      number_of(
          e, {"random_metadata_fill", "random_metadata_write", "metadata_fill", "metadata_write"},
          0),
      number_of(e, {"gated_metadata_fill", "gated_metadata_write"}, 0),
      number_of(e,
                {"skipped_metadata_fill", "skipped_metadata_write", "gated_metadata_fill",
                 "gated_metadata_write"},
                0)};
  out.metadata_update = {number_of(e,
                                   {"random_metadata_update", "random_metadata_write",
                                    "metadata_update", "metadata_write"},
                                   0),
                         number_of(e, {"gated_metadata_update", "gated_metadata_write"}, 0),
                         number_of(e,
                                   {"skipped_metadata_update", "skipped_metadata_write",
                                    "gated_metadata_update", "gated_metadata_write"},
                                   0)};
  out.decompression = number_of(e, {"decompression_count"}, 0);
  out.compression = number_of(e, {"compression_count"}, 0);
}

void read_compute(const Node* e, SparseEnergy& out) {
  const double usual =
      number_of(e, {"mac_random", "mult_random", "mac", "mult", "compute"}, out.random);
  const double gated =
      number_of(e, {"mac_gated", "mult_gated", "compute_gated", "gated_compute"}, usual);
  out = {
      usual, gated,
      number_of(e, {"mac_skipped", "mult_skipped", "compute_skipped", "skipped_compute"}, gated)};
}

// A width that the accesses of the memory hold whole numbers of.
double whole_width(double bits, const MetadataStorage& memory) {
  if (bits < 0) return memory.word_bits;
  double wider = bits;
  while (wider > 0 && wider < 2 * bits && std::fmod(memory.width, wider) != 0) ++wider;
  return wider;
}

void read_metadata(const Node* attributes, MetadataStorage& out) {
  out.width = number_of(attributes, {"metadata_storage_width"}, 0);
  out.word_bits = number_of(attributes, {"metadata_datawidth", "metadata_word_bits"}, 0);
  const bool bounded = first_of(attributes, {"depth", "entries", "memory_depth",
                                             "data_storage_depth", "sizeKB"}) != nullptr;
  if (!bounded) return;
  const double copies = number_of(attributes, {"multiple_buffering", "multiple-buffering"}, 1);
  const double depth = number_of(attributes, {"metadata_storage_depth"}, 0);
  out.bits = std::floor(depth * out.width / std::max(1.0, copies));
}

}  // namespace

void add_component_details(const std::vector<ComponentNodes>& components, SparseDesign& design) {
  for (std::size_t l = 0; l < design.storage.size() && l < components.size(); ++l) {
    read_energies(&components[l].energy, design.energies[l]);
    read_metadata(&components[l].attributes, design.metadata[l]);
    for (TensorStorage& storage : design.storage[l]) {
      for (RankStorage& rank : storage.ranks) {
        rank.metadata_bits = whole_width(rank.metadata_bits, design.metadata[l]);
        rank.payload_bits = whole_width(rank.payload_bits, design.metadata[l]);
      }
    }
  }
  if (!components.empty()) read_compute(&components.back().energy, design.compute);
}

void add_loop_orders(const Node& directives, const Einsum& problem, const Chip& chip,
                     SparseDesign& design) {
  design.orders.assign(chip.levels.size(), {});
  const Node* inside = directives.find("mapping");
  for (const Node& d : (inside != nullptr ? *inside : directives).items()) {
    const Node* permutation = d.find("permutation");
    if (permutation == nullptr) continue;
    const std::string& type = d.at("type").as_string();
    for (std::size_t l = 0; l < chip.levels.size(); ++l) {
      if (chip.levels[l].name != d.at("target").as_string()) continue;
      std::vector<int> order = read_permutation(*permutation, problem.dims);
      for (int dim = 0; dim < static_cast<int>(problem.dims.size()); ++dim) {
        if (std::find(order.begin(), order.end(), dim) == order.end()) order.push_back(dim);
      }
      (type == "spatial" ? design.orders[l].space : design.orders[l].time) = std::move(order);
    }
  }
}

}  // namespace orrery
