#include "orrery/accelerator/architecture/timeloop_architecture.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <initializer_list>

#include "orrery/base/node_builder.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestMessage = 400;  // it quotes names of the input

constexpr std::int64_t kMostInstances = std::int64_t{1} << 22;

const Node* attribute(const TimeloopComponent& c, std::initializer_list<const char*> names) {
  if (c.attributes == nullptr) return nullptr;
  for (const char* name : names) {
    const Node* found = c.attributes->find(name);
    if (found != nullptr && !found->is_null()) return found;
  }
  return nullptr;
}

std::int64_t whole(const TimeloopComponent& c, std::initializer_list<const char*> names,
                   std::int64_t otherwise) {
  const Node* node = attribute(c, names);
  if (node == nullptr) return otherwise;
  const std::int64_t value = node->as_int();
  if (value < 1 || value > (std::int64_t{1} << 50)) node->fail("expected a whole number above 0");
  return value;
}

double not_negative(const Node& node) {
  const double value = node.as_double();
  if (value < 0) node.fail("expected a number from 0");
  return value;
}

std::optional<double> bandwidth(const TimeloopComponent& c, const char* name) {
  const Node* node = attribute(c, {name});
  if (node == nullptr) return std::nullopt;
  const double value = node->as_double();
  if (value <= 0) node->fail("expected words a cycle above 0");
  return value;
}

double energy_of(const TimeloopComponent& c, const char* action) {
  if (c.energy == nullptr || !c.energy->is_map()) return 0;
  const Node* node = c.energy->find(action);
  return node == nullptr || node->is_null() ? 0 : not_negative(*node);
}

StorageLevel level_of(const TimeloopComponent& c) {
  StorageLevel level;
  level.name = c.name;
  level.kind = c.component_class.starts_with("dummy") ? StorageLevel::Kind::kFanOut
                                                      : StorageLevel::Kind::kMemory;
  level.word_bits = static_cast<int>(
      whole(c, {"datawidth", "data_width", "word-bits", "word_bits", "word_width"}, 16));
  const std::int64_t width = whole(c, {"width", "memory_width"}, level.word_bits);
  level.cluster = static_cast<int>(whole(c, {"cluster-size", "cluster_size"}, 1));
  // A row of the memory serves all instances of a cluster.
  const std::int64_t row = width / (level.word_bits * level.cluster);
  level.block = static_cast<int>(
      whole(c, {"block-size", "block_size", "n_words"}, std::max<std::int64_t>(1, row)));
  if (const Node* buffering = attribute(c, {"multiple-buffering", "multiple_buffering"})) {
    level.multiple_buffering = buffering->as_double();
    if (level.multiple_buffering < 1) buffering->fail("expected a number from 1");
  }
  if (attribute(c, {"depth", "memory_depth"}) != nullptr && c.component_class != "DRAM") {
    level.words = real(whole(c, {"depth", "memory_depth"}, 1) * level.block);
  } else if (attribute(c, {"entries"}) != nullptr) {
    level.words = real(whole(c, {"entries"}, 1));
  } else if (const Node* size = attribute(c, {"sizeKB"})) {
    level.words = std::floor(not_negative(*size) * 1024 * 8 / level.word_bits);
  }
  level.read_bandwidth = bandwidth(c, "read_bandwidth");
  level.write_bandwidth = bandwidth(c, "write_bandwidth");
  level.shared_bandwidth = bandwidth(c, "shared_bandwidth");
  level.energy = {energy_of(c, "read"), energy_of(c, "write"), energy_of(c, "update"),
                  energy_of(c, "leak")};
  level.area = c.area_um2 * 1e-6;
  if (const Node* hop = attribute(c, {"energy_per_hop"})) level.hop_energy = not_negative(*hop);
  if (const Node* router = attribute(c, {"router_energy"})) {
    level.router_energy = not_negative(*router);
  }
  return level;
}

}  // namespace

Chip chip_of(const std::vector<TimeloopComponent>& components, const std::string& name) {
  if (components.size() < 2) {
    throw InputError(
        shortened(fmt::format("architecture {}: expected a memory and a compute unit", name),
                  kLongestMessage));
  }
  Chip chip;
  chip.name = name;
  std::int64_t columns = 1, rows = 1;
  for (const TimeloopComponent& c : components) {
    for (const StorageLevel& level : chip.levels) {
      if (level.name == c.name) {
        throw InputError(
            shortened(fmt::format("architecture {}: two components named '{}'", name, c.name),
                      kLongestMessage));
      }
    }
    const std::int64_t mesh_x = whole(c, {"meshX", "mesh_x"}, c.instances);
    const std::int64_t mesh_y =
        whole(c, {"meshY", "mesh_y"}, std::max<std::int64_t>(1, c.instances / mesh_x));
    if (c.instances > kMostInstances) {
      throw InputError(
          shortened(fmt::format("architecture {}: {}: {} instances; at most {} are counted", name,
                                c.name, c.instances, kMostInstances),
                    kLongestMessage));
    }
    if (mesh_x > kMostInstances || mesh_y > kMostInstances || mesh_x * mesh_y != c.instances ||
        mesh_x % columns != 0 || mesh_y % rows != 0) {
      throw InputError(
          shortened(fmt::format("architecture {}: {}: {} instances on a grid of {} x {} below one "
                                "of {} x {}; expected a "
                                "full grid that the grid above divides",
                                name, c.name, c.instances, mesh_x, mesh_y, columns, rows),
                    kLongestMessage));
    }
    if (!chip.levels.empty()) {
      chip.levels.back().array = {{"X", mesh_x / columns, {}}, {"Y", mesh_y / rows, {}}};
    } else if (c.instances != 1) {
      throw InputError(
          shortened(fmt::format("architecture {}: {}: expected one instance of the outermost "
                                "level, got {}",
                                name, c.name, c.instances),
                    kLongestMessage));
    }
    columns = mesh_x;
    rows = mesh_y;
    if (&c == &components.back()) {
      chip.compute.name = c.name;
      chip.compute.energy = energy_of(c, "compute");
      chip.compute.leak = energy_of(c, "leak");
      chip.compute.area = c.area_um2 * 1e-6;
    } else {
      chip.levels.push_back(level_of(c));
    }
  }
  return chip;
}

std::vector<ComponentNodes> component_nodes(const Node& list) {
  std::vector<ComponentNodes> out;
  for (const Node& node : list.items()) {
    ComponentNodes& c = out.emplace_back();
    c.name = node.at("name").as_string();
    if (const Node* attributes = node.find("attributes")) c.attributes = *attributes;
    if (const Node* energy = node.find("energy_pj_per_action")) c.energy = *energy;
  }
  return out;
}

Chip read_flat_architecture(const Node& list, const std::string& name) {
  if (!list.is_list()) list.fail("expected a list of components, outermost first");
  std::vector<TimeloopComponent> components;
  for (const Node& node : list.items()) {
    TimeloopComponent c;
    c.name = node.at("name").as_string();
    c.component_class = node.at("class").as_string();
    const Node& range = node.at("range");
    const std::string& text = range.as_string();
    const std::size_t dots = text.find("..");
    const char* end = text.data() + text.size();
    if (dots == std::string::npos ||
        std::from_chars(text.data() + dots + 2, end, c.instances).ptr != end || c.instances < 1) {
      range.fail("expected a range such as 1..64");
    }
    c.attributes = node.find("attributes");
    c.energy = node.find("energy_pj_per_action");
    if (const Node* area = node.find("area_um2"); area != nullptr && !area->is_null()) {
      c.area_um2 = not_negative(*area);
    }
    components.push_back(c);
  }
  return chip_of(components, name);
}

}  // namespace orrery
