#include "orrery/accelerator/architecture/timeloop_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <map>

#include "orrery/base/units.h"

namespace orrery {
namespace {

// "PE[0..13]" is PE, 14 times; "PE" once.
std::int64_t split_range(const Node& name, std::string& base) {
  const std::string& text = name.as_string();
  const std::size_t open = text.find('[');
  base = text.substr(0, open);
  if (open == std::string::npos) return 1;
  const std::size_t dots = text.find("..", open);
  std::int64_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  if (dots == std::string::npos || text.back() != ']' ||
      std::from_chars(text.data() + open + 1, end, first).ptr != text.data() + dots ||
      std::from_chars(text.data() + dots + 2, end, last).ptr != end - 1 || last < first ||
      last - first > (std::int64_t{1} << 30)) {
    name.fail("expected a name with a range such as PE[0..13]");
  }
  return last - first + 1;
}

class TreeReader {
 public:
  TreeReader(const Node* energies, const ComponentLibrary* library)
      : library_(energies == nullptr ? library : nullptr) {
    if (energies == nullptr) return;
    const Node* table = energies->find("ERT");
    const Node& root = table != nullptr ? *table : *energies;
    for (const Node& entry : root.at("tables").items()) {
      std::string name = entry.at("name").as_string();
      // "system.chip.PE[0..13].mac[1..168]" is mac.
      std::size_t depth = 0, begin = 0;
      for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '[') ++depth;
        if (name[i] == ']' && depth > 0) --depth;
        if (name[i] == '.' && depth == 0) begin = i + 1;
      }
      name = name.substr(begin, name.find('[', begin) - begin);
      energies_[name] = &entry.at("actions");
    }
  }

  // A tree of v0.2 or v0.3: `local` components, then one `subtree`.
  void read_tree(const Node& list, std::int64_t times, const std::map<std::string, Node>& above) {
    if (!list.is_list() || list.items().size() != 1) {
      list.fail("expected one subtree; side branches are not supported");
    }
    const Node& node = list.items().front();
    std::string base;
    times *= split_range(node.at("name"), base);
    const std::map<std::string, Node> attributes = inherited(node, above);
    if (const Node* local = node.find("local")) {
      for (const Node& c : local->items()) add_component(c, times, attributes);
    }
    if (const Node* subtree = node.find("subtree")) read_tree(*subtree, times, attributes);
  }

  // A list of v0.4, in which containers and components follow each other.
  void read_nodes(const Node& list) {
    std::map<std::string, Node> attributes;
    for (const Node& node : list.items()) {
      std::int64_t x = 1, y = 1;
      if (const Node* spatial = node.find("spatial")) {
        x = mesh(*spatial, {"meshX", "mesh_X"});
        y = mesh(*spatial, {"meshY", "mesh_Y"});
      }
      columns_ *= x;
      rows_ *= y;
      if (node.find("class") == nullptr) {
        attributes = inherited(node, attributes);
      } else {
        add_component(node, columns_ * rows_, attributes, true);
      }
    }
  }

  TimeloopArchitecture take(const std::string& name, const Node& root) {
    if (components_.size() < 2) root.fail("expected a memory and a compute unit");
    TimeloopArchitecture out;
    out.without_energy = std::move(without_energy_);
    out.energies = out.without_energy.empty();
    out.estimated = library_ != nullptr;
    out.chip = chip_of(components_, name);
    out.components = std::move(details_);
    return out;
  }

 private:
  static std::int64_t mesh(const Node& spatial, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const Node* n = spatial.find(name)) {
        const std::int64_t value = n->as_int();
        if (value < 1 || value > (1 << 20)) n->fail("expected 1 to 2^20 instances");
        return value;
      }
    }
    return 1;
  }

  static std::map<std::string, Node> inherited(const Node& node,
                                               std::map<std::string, Node> attributes) {
    if (const Node* own = node.find("attributes")) {
      for (std::size_t i = 0; i < own->keys().size(); ++i) {
        attributes[own->keys()[i]] = own->items()[i];
      }
    }
    return attributes;
  }

  void add_component(const Node& node, std::int64_t times, const std::map<std::string, Node>& above,
                     bool grid = false) {
    TimeloopComponent c;
    c.instances = times * split_range(node.at("name"), c.name);
    c.component_class = node.at("class").as_string();
    Node& attributes = maps_.emplace_back();
    for (const auto& [key, value] : inherited(node, above)) set_path(attributes, key, value);
    if (grid) {
      set_path(attributes, "meshX", scalar_node(fmt::format("{}", columns_), node.where()));
      set_path(attributes, "meshY", scalar_node(fmt::format("{}", rows_), node.where()));
    }
    c.attributes = &attributes;
    require_size(node, c);
    if (const auto found = energies_.find(c.name); found != energies_.end()) {
      Node& energy = maps_.emplace_back();
      for (const Node& action : found->second->items()) {
        set_path(energy, action.at("name").as_string(), action.at("energy"));
      }
      c.energy = &energy;
    } else if (!c.component_class.starts_with("dummy") && !estimate(c)) {
      without_energy_.push_back(unknown_.empty() ? c.name
                                                 : fmt::format("{} ({})", c.name, unknown_));
    }
    ComponentNodes& details = details_.emplace_back();
    details.name = c.name;
    details.attributes = attributes;
    if (c.energy != nullptr) details.energy = *c.energy;
    for (const char* key : {"sparse_optimizations", "sparse-optimizations"}) {
      if (const Node* sparse = node.find(key)) details.sparse = *sparse;
    }
    components_.push_back(std::move(c));
  }

  // A number of the component's attributes; 0 if it is absent.
  static double number(const TimeloopComponent& c, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const Node* node = c.attributes->find(name);
      if (node != nullptr && !node->is_null()) return node->as_double();
    }
    return 0;
  }

  // A memory on the chip has a size: without one a misspelt attribute would make it unbounded.
  static void require_size(const Node& node, const TimeloopComponent& c) {
    if (c.component_class.find("SRAM") == std::string::npos) return;
    for (const char* size : {"depth", "memory_depth", "entries", "sizeKB"}) {
      if (c.attributes->find(size) != nullptr) return;
    }
    node.fail(fmt::format("{}: expected the size of the SRAM: depth, entries or sizeKB", c.name));
  }

  // Energies and area from the library, where it knows the component.
  bool estimate(TimeloopComponent& c) {
    unknown_.clear();
    if (library_ == nullptr) return false;
    const Node* technology = c.attributes->find("technology");
    const Node* type = c.attributes->find("type");
    const double nm = technology == nullptr ? 0 : std::atof(technology->text().c_str());
    const double bits = number(c, {"datawidth", "data_width", "word_bits"});
    const double width = std::max(number(c, {"width", "memory_width"}), bits);
    const double depth = number(c, {"depth", "memory_depth"});
    const std::string& kind = c.component_class;
    const auto is = [&kind](const char* part) { return kind.find(part) != std::string::npos; };
    try {
      ComponentEstimate e;
      if (is("DRAM")) {
        if (type == nullptr) return false;
        e = library_->dram(type->text(), width);
      } else if (is("mac") || is("MAC")) {
        e = library_->multiply_add(fmt::format("{}{:.0f}", is("fp") ? "fp" : "int", bits), nm);
      } else if (is("SRAM") && depth > 0) {
        e = library_->sram(depth * width / 8, width, nm);
      } else if ((is("reg") || is("storage") || is("RF")) && depth > 0) {
        e = library_->registers(width, depth * width, nm);
      } else {
        return false;
      }
      Node& energy = maps_.emplace_back();
      for (const char* action : {"read", "write", "update", "compute"}) {
        set_path(energy, action, scalar_node(fmt::format("{}", e.pj), c.name));
      }
      c.energy = &energy;
      c.area_um2 = e.um2.value_or(0);
      return true;
    } catch (const NoData& e) {
      unknown_ = e.what();
      return false;
    }
  }

  const ComponentLibrary* library_;
  std::map<std::string, const Node*> energies_;
  std::deque<Node> maps_;  // addresses stay
  std::vector<TimeloopComponent> components_;
  std::vector<ComponentNodes> details_;
  std::vector<std::string> without_energy_;
  std::string unknown_;  // why the last component could not be estimated
  std::int64_t columns_ = 1, rows_ = 1;
};

}  // namespace

TimeloopArchitecture read_timeloop_architecture(const Node& root, const Node* energies,
                                                const ComponentLibrary* library,
                                                const std::string& name) {
  const Node* inside = root.find("architecture");
  const Node& architecture = inside != nullptr ? *inside : root;
  if (architecture.is_list()) {
    return {
        read_flat_architecture(architecture, name), true, false, {}, component_nodes(architecture)};
  }
  TreeReader reader(energies, library);
  if (const Node* subtree = architecture.find("subtree")) {
    reader.read_tree(*subtree, 1, {});
  } else if (const Node* nodes = architecture.find("nodes")) {
    reader.read_nodes(*nodes);
  } else {
    architecture.fail("expected subtree (v0.3) or nodes (v0.4) of a Timeloop architecture");
  }
  return reader.take(name, architecture);
}

}  // namespace orrery
