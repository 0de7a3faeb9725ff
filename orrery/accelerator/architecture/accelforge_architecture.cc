#include "orrery/accelerator/architecture/accelforge_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/accelerator/architecture/accelforge_component.h"
#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kClock = 1e9;
constexpr std::size_t kMostAccelforgeNodes = 64;

class ArchitectureReader {
 public:
  ArchitectureReader(const Node& root, const std::map<std::string, int>& role_bits,
                     const std::string& name)
      : root_(root) {
    chip_.name = name;
    chip_.clock_hz = kClock;
    names_.all = {"input", "weight", "output"};
    names_.sets["All"] = names_.sets["Tensors"] = names_.all;
    names_.sets["Nothing"] = {};
    names_.sets["Inputs"] = {"input", "weight"};
    names_.sets["Outputs"] = {"output"};
    for (const std::string& role : names_.all) {
      const auto bits = role_bits.find(role);
      names_.sets[role] = bits == role_bits.end() ? NameSet() : NameSet{role};
      roles_[role] = {role};
      names_.numbers[role + ".bits_per_value"] = bits == role_bits.end() ? 0 : bits->second;
    }
  }

  Chip read();

 private:
  void read_variables();
  void add_node(const Node& node, bool last);
  void add_fork(const Node& node);
  void add_side(const Node& node);
  void add_axes(const Node& node);
  ArrayAxis read_axis(const Node& node) const;

  const Node& root_;
  Chip chip_;
  ExpressionNames names_;
  std::map<std::string, NameSet> roles_;
  std::vector<std::string> node_names_;
  bool finished_ = false;
};

void ArchitectureReader::read_variables() {
  const Node* variables = root_.find("variables");
  if (variables == nullptr) return;
  if (!variables->is_map()) variables->fail("expected a map of names to values");
  for (std::size_t i = 0; i < variables->keys().size(); ++i) {
    names_.numbers[variables->keys()[i]] = evaluate_number(variables->items()[i], names_);
  }
}

ArrayAxis ArchitectureReader::read_axis(const Node& node) const {
  static const std::string kKeys[] = {"name",      "fanout",      "may_reuse",   "reuse",
                                      "min_usage", "loop_bounds", "usage_scale", "power_gateable"};
  require_keys(node, kKeys);
  ArrayAxis axis;
  axis.name = node.at("name").as_string();
  const double size = evaluate_number(node.at("fanout"), names_);
  if (!(size >= 1) || size > 1 << 20 || size != std::floor(size)) {
    node.at("fanout").fail("expected a whole number from 1 to 2^20");
  }
  axis.size = static_cast<std::int64_t>(size);
  if (const Node* gate = node.find("power_gateable"); gate != nullptr && gate->as_bool()) {
    gate->fail("power gating is not counted");
  }
  if (const Node* usage = node.find("usage_scale");
      usage != nullptr && evaluate_number(*usage, names_) != 1) {
    usage->fail("only 1 is read");
  }
  const Node* reuse = node.find("may_reuse");
  if (reuse == nullptr) reuse = node.find("reuse");
  if (reuse == nullptr) return axis;
  ExpressionNames names = names_;
  for (const auto& [role, set] : roles_) names.sets[role] = set;
  const NameSet shared = evaluate_set(*reuse, names);
  if (shared == names_.all) return axis;
  axis.shared.emplace(shared.begin(), shared.end());
  return axis;
}

// The array in which the node and all that follow it stand: below the level before.
void ArchitectureReader::add_axes(const Node& node) {
  const Node* spatial = node.find("spatial");
  if (spatial == nullptr) return;
  if (!spatial->is_list()) spatial->fail("expected a list of {name, fanout}");
  if (chip_.levels.empty()) spatial->fail("an array is expected below a memory");
  for (const Node& n : spatial->items()) {
    ArrayAxis axis = read_axis(n);
    for (const StorageLevel& level : chip_.levels) {
      for (const ArrayAxis& other : level.array) {
        if (other.name != axis.name) continue;
        axis.name = node.at("name").as_string() + "." + axis.name;
        break;
      }
    }
    chip_.levels.back().array.push_back(std::move(axis));
    if (chip_.levels.back().array.size() > 8) n.fail("expected at most 8 axes below a level");
  }
}

void ArchitectureReader::add_side(const Node& node) {
  if (node.find("spatial") != nullptr) {
    node.at("spatial").fail("compute units beside others are expected without an array");
  }
  if (chip_.levels.empty()) node.fail("compute units are expected below a memory");
  if (!chip_.levels.back().array.empty()) {
    StorageLevel carrier;
    carrier.kind = StorageLevel::Kind::kFanOut;
    carrier.name = node.at("name").as_string() + ".place";
    carrier.word_bits = 1;
    chip_.levels.push_back(std::move(carrier));
  }
  chip_.beside.push_back(
      {read_accelforge_compute(node, kClock, names_), static_cast<int>(chip_.levels.size()) - 1});
}

void ArchitectureReader::add_fork(const Node& node) {
  const Node& nodes = node.at("nodes");
  if (!nodes.is_list() || nodes.items().size() != 1 || nodes.items()[0].find("kind") == nullptr ||
      nodes.items()[0].at("kind").text() != "Compute") {
    nodes.fail("only a Fork of one Compute is read");
  }
  require_keys(nodes.items()[0], accelforge_component_keys());
  add_side(nodes.items()[0]);
}

void ArchitectureReader::add_node(const Node& node, bool last) {
  static const std::string kKinds[] = {"Memory", "Toll",    "Container", "Fanout",
                                       "Fork",   "Compute", "Network",   "Array"};
  static const std::string kForkKeys[] = {"kind", "name", "nodes"};
  const Node* kind = node.find("kind");
  if (kind == nullptr) {
    node.fail(fmt::format("expected a tag: !{}", "Memory, !Toll, !Container, !Fork or !Compute"));
  }
  const std::string& name = kind->as_string();
  if (name == "Fork") {
    require_keys(node, kForkKeys);
    return add_fork(node);
  }
  if (std::find(std::begin(kKinds), std::end(kKinds), name) == std::end(kKinds)) {
    kind->fail(fmt::format("unknown tag !{}{}", name, did_you_mean(name, kKinds)));
  }
  if (name == "Network" || name == "Array") {
    kind->fail(fmt::format("!{} is not counted; leave it out for a free network", name));
  }
  require_keys(node, accelforge_component_keys());
  const std::string& own = node.at("name").as_string();
  if (std::find(node_names_.begin(), node_names_.end(), own) != node_names_.end()) {
    node.at("name").fail(fmt::format("a second node named '{}'", own));
  }
  node_names_.push_back(own);
  if (name == "Compute" && !last) return add_side(node);
  add_axes(node);
  if (name == "Compute") {
    if (chip_.levels.empty()) node.fail("compute units are expected below a memory");
    chip_.compute = read_accelforge_compute(node, kClock, names_);
    finished_ = true;
  } else if (name == "Memory" || name == "Toll") {
    chip_.levels.push_back(read_accelforge_memory(node, name == "Toll", kClock, names_));
  }
}

Chip ArchitectureReader::read() {
  static const std::string kRoot[] = {"arch", "variables", "workload", "renames", "mapping"};
  static const std::string kKeys[] = {"nodes", "name", "extra_attributes_for_all_component_models"};
  require_keys(root_, kRoot);
  read_variables();
  const Node& arch = root_.at("arch");
  require_keys(arch, kKeys);
  const Node& nodes = arch.at("nodes");
  if (!nodes.is_list() || nodes.items().empty() || nodes.items().size() > kMostAccelforgeNodes) {
    nodes.fail(fmt::format("expected a list of 1 to {} nodes", kMostAccelforgeNodes));
  }
  for (std::size_t i = 0; i < nodes.items().size(); ++i) {
    add_node(nodes.items()[i], i + 1 == nodes.items().size());
  }
  if (!finished_) nodes.fail("expected compute units (!Compute) as the last node");
  if (chip_.levels.front().kind != StorageLevel::Kind::kMemory) {
    nodes.fail("expected a memory (!Memory) as the outermost node");
  }
  return std::move(chip_);
}

}  // namespace

Chip read_accelforge_architecture(const Node& root, const std::map<std::string, int>& role_bits,
                                  const std::string& name) {
  return ArchitectureReader(root, role_bits, name).read();
}

}  // namespace orrery
