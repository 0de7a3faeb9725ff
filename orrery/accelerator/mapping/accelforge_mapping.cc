#include "orrery/accelerator/mapping/accelforge_mapping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "orrery/accelerator/notation/accelforge_text.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

// Writes the nodes in the text form of read_looptree_text, each at the line of its node, so that
// messages name the lines of the YAML file.
class MappingWriter {
 public:
  MappingWriter(const Cascade& cascade, const Chip& chip) : chip_(chip) {
    for (const CascadeStep& s : cascade.steps) {
      for (std::size_t d = 0; d < s.einsum.dims.size(); ++d) {
        std::int64_t& size = sizes_[s.einsum.dims[d]];
        size = std::max(size, s.einsum.sizes[d]);
      }
    }
  }
  using Sizes = std::map<std::string, std::int64_t>;
  void write(const Node& nodes, std::size_t indent, Sizes extents);
  const Sizes& sizes() const { return sizes_; }
  const std::string& text() const { return text_; }

 private:
  void add(const Node& node, std::size_t indent, const std::string& line) {
    for (; at_ < node.line(); ++at_) text_ += '\n';
    if (!text_.empty() && text_.back() != '\n') node.fail("expected a line of its own");
    text_ += std::string(indent, ' ') + line;
  }
  void add_loop(const Node& node, std::size_t indent, const std::string& head, Sizes& extents);
  std::string axis(const Node& node) const;
  static void require_name(const Node& node) {
    const std::string& name = node.as_string();
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    });
    if (!plain) node.fail("expected a name");
  }

  const Chip& chip_;
  Sizes sizes_;
  std::string text_;
  int at_ = 1;
};

// The axis that a spatial loop names: those of a name that others have bear their component's too.
std::string MappingWriter::axis(const Node& node) const {
  const Node& name = node.at("name");
  require_name(name);
  const Node* component = node.find("component");
  const std::string longer =
      component == nullptr ? "" : component->as_string() + "." + name.as_string();
  for (const StorageLevel& level : chip_.levels) {
    for (const ArrayAxis& a : level.array) {
      if (a.name == longer) return longer;
    }
  }
  return name.as_string();
}

void MappingWriter::add_loop(const Node& node, std::size_t indent, const std::string& head,
                             Sizes& extents) {
  const Node& variable = node.at("rank_variable");
  require_name(variable);
  const auto extent = extents.find(variable.as_string());
  if (extent == extents.end()) {
    std::vector<std::string> known;
    for (const auto& [name, size] : extents) known.push_back(name);
    variable.fail(fmt::format("no variable of the workload ({}){}", fmt::join(known, ", "),
                              did_you_mean(variable.as_string(), known)));
  }
  const Node& shape = node.at("tile_shape");
  const std::int64_t tile = shape.as_int();
  if (tile < 1 || extent->second % tile != 0) {
    shape.fail(
        fmt::format("expected a tile that divides {} of {}", extent->second, variable.as_string()));
  }
  add(node, indent,
      fmt::format("{}{} in [0..{}) shape={}", head, variable.as_string(), extent->second / tile,
                  tile));
  extent->second = tile;
}

void MappingWriter::write(const Node& nodes, std::size_t indent, Sizes extents) {
  static const std::string kHold[] = {"kind", "tensors", "component"};
  static const std::string kTime[] = {"kind", "rank_variable", "tile_shape"};
  static const std::string kSpace[] = {"kind", "name", "component", "rank_variable", "tile_shape"};
  static const std::string kCompute[] = {"kind", "einsum", "component"};
  static const std::string kBranches[] = {"kind", "nodes"};
  static const std::string kKinds[] = {"Storage",    "Toll",        "Temporal",
                                       "Spatial",    "Reservation", "Compute",
                                       "Sequential", "Nested",      "Pipeline"};
  if (!nodes.is_list() || nodes.items().empty()) nodes.fail("expected a list of nodes");
  for (const Node& node : nodes.items()) {
    const Node* kind = node.find("kind");
    if (kind == nullptr) {
      node.fail("expected a tag: !Storage, !Temporal, !Spatial, !Sequential, !Nested or !Compute");
    }
    const std::string& tag = kind->as_string();
    if (tag == "Storage" || tag == "Toll") {
      require_keys(node, kHold);
      const Node& tensors = node.at("tensors");
      if (!tensors.is_list() || tensors.items().empty()) tensors.fail("expected a list of tensors");
      std::vector<std::string> names;
      for (const Node& t : tensors.items()) {
        require_name(t);
        names.push_back(t.as_string());
      }
      require_name(node.at("component"));
      add(node, indent,
          fmt::format("[{} in {}]", fmt::join(names, ","), node.at("component").as_string()));
    } else if (tag == "Temporal") {
      require_keys(node, kTime);
      add_loop(node, indent, "T-", extents);
    } else if (tag == "Spatial") {
      require_keys(node, kSpace);
      add_loop(node, indent, "S-" + axis(node) + "-", extents);
    } else if (tag == "Compute") {
      require_keys(node, kCompute);
      require_name(node.at("einsum"));
      require_name(node.at("component"));
      add(node, indent,
          fmt::format("{} computes {}", node.at("component").as_string(),
                      node.at("einsum").as_string()));
    } else if (tag == "Sequential") {
      require_keys(node, kBranches);
      add(node, indent, "Split");
      write(node.at("nodes"), indent + 2, extents);
    } else if (tag == "Nested") {
      require_keys(node, kBranches);
      write(node.at("nodes"), indent, extents);
    } else if (tag == "Pipeline") {
      kind->fail("einsums that run at the same time (!Pipeline) are not counted");
    } else if (tag != "Reservation") {
      kind->fail(fmt::format("unknown tag !{}{}", tag, did_you_mean(tag, kKinds)));
    }
  }
}

}  // namespace

CascadeMapping read_accelforge_mapping(const Node& root, const Cascade& cascade, const Chip& chip) {
  static const std::string kRoot[] = {"mapping", "arch", "workload", "renames", "variables"};
  static const std::string kKeys[] = {"nodes"};
  require_keys(root, kRoot);
  const Node& mapping = root.at("mapping");
  require_keys(mapping, kKeys);
  MappingWriter writer(cascade, chip);
  writer.write(mapping.at("nodes"), 0, writer.sizes());
  return read_looptree_text(writer.text(), root.file(), 1, cascade, chip);
}

}  // namespace orrery
