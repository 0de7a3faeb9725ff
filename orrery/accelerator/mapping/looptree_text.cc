#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "orrery/accelerator/mapping/cascade_mapping.h"
#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

// A line of the text: holders, a loop, a split, or the compute of an einsum.
struct TextNode {
  enum class Kind { kHold, kTime, kSpace, kSplit, kCompute };
  Kind kind = Kind::kHold;
  int line = 0;
  std::size_t indent = 0;
  std::vector<std::string> tensors;   // kHold
  std::string place;                  // kHold: the memory; kSpace: the axis; kCompute: the units
  std::string name;                   // loops: the dimension; kCompute: the einsum
  std::int64_t size = 1, inside = 1;  // loops: iterations, and extent of the tile that they leave
};

class TextReader {
 public:
  TextReader(std::string name, const Cascade& cascade, const Chip& chip)
      : name_(std::move(name)), cascade_(cascade), chip_(chip) {
    out_.steps.resize(cascade.steps.size());
    seen_.assign(cascade.steps.size(), 0);
  }

  CascadeMapping read(const std::string& text, int first_line) {
    std::istringstream in(text);
    std::string line;
    for (int at = first_line; std::getline(in, line); ++at) read_line(line, at);
    std::size_t next = 0;
    read_block(next, 0, {}, 0);
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i] == 0) {
        throw InputError(fmt::format("{}:{}: no mapping of einsum {}", name_, first_line,
                                     cascade_.steps[i].einsum.name));
      }
    }
    return std::move(out_);
  }

 private:
  using Path = std::vector<const TextNode*>;

  [[noreturn]] void fail(int line, const std::string& why) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line, shortened(why, 1000)));
  }

  std::size_t index(int line, const char* what, const std::string& name,
                    const std::vector<std::string>& names) const {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      fail(line, fmt::format("no {} '{}' ({}){}", what, name, fmt::join(names, ", "),
                             did_you_mean(name, names)));
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  std::int64_t number(int line, std::string_view text) const {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < 1) {
      fail(line, fmt::format("expected a whole number from 1, got '{}'", text));
    }
    return n;
  }

  void read_line(const std::string& line, int at);
  void read_loop(std::string_view text, TextNode& node) const;
  void read_block(std::size_t& next, std::size_t indent, Path path, std::size_t fused);
  void finish(const TextNode& leaf, const Path& path, std::size_t fused);
  void add_holders(const TextNode& n, const Einsum& e, Mapping& m) const;
  void add_loop(const TextNode& n, const Einsum& e, std::vector<std::int64_t>& extents,
                Mapping& m) const;
  void check(const TextNode& leaf, const Einsum& e, const std::vector<std::int64_t>& extents,
             const StepMapping& step) const;
  std::vector<std::string> level_names() const;

  std::string name_;
  const Cascade& cascade_;
  const Chip& chip_;
  std::vector<TextNode> nodes_;
  std::vector<char> seen_;
  CascadeMapping out_;
};

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "m in [0..4) shape=16", with the axis before it in space.
void TextReader::read_loop(std::string_view text, TextNode& node) const {
  const std::size_t in = text.find(" in [0.."), close = text.find(") shape=");
  if (in == std::string_view::npos || close == std::string_view::npos || close < in + 8) {
    fail(node.line,
         fmt::format("expected a loop such as 'T-m in [0..4) shape=16', got '{}'", text));
  }
  node.size = number(node.line, text.substr(in + 8, close - in - 8));
  node.inside = number(node.line, text.substr(close + 8));
  node.name = std::string(text.substr(2, in - 2));
  if (node.kind == TextNode::Kind::kTime) return;
  const std::size_t dash = node.name.rfind('-');
  if (dash == std::string::npos) {
    fail(node.line, fmt::format("expected S-AXIS-DIMENSION, got '{}'", text.substr(0, in)));
  }
  node.place = node.name.substr(0, dash);
  node.name.erase(0, dash + 1);
}

void TextReader::read_line(const std::string& line, int at) {
  const std::size_t indent = line.find_first_not_of(" \t\r");
  if (indent == std::string::npos) return;
  std::string_view text(line);
  text = text.substr(indent, line.find_last_not_of(" \t\r") + 1 - indent);
  TextNode node;
  node.line = at;
  node.indent = indent;
  constexpr std::string_view kComputes = " computes ", kIn = " in ";
  if (text == "Split") {
    node.kind = TextNode::Kind::kSplit;
  } else if (text.find(" reserves ") != std::string_view::npos) {
    // A line with `reserves` and `Split` sums up the fused loops that follow it.
    return;
  } else if (text.front() == '[' && text.back() == ']' && text.find(kIn) < text.size()) {
    const std::size_t in = text.find(kIn);
    node.tensors = split_at(text.substr(1, in - 1), ',');
    node.place = std::string(text.substr(in + kIn.size(), text.size() - in - kIn.size() - 1));
  } else if (text.starts_with("T-") || text.starts_with("S-")) {
    node.kind = text.front() == 'T' ? TextNode::Kind::kTime : TextNode::Kind::kSpace;
    read_loop(text, node);
  } else if (const std::size_t computes = text.find(kComputes);
             computes != std::string_view::npos) {
    node.kind = TextNode::Kind::kCompute;
    node.place = std::string(text.substr(0, computes));
    node.name = std::string(text.substr(computes + kComputes.size()));
  } else {
    fail(at, fmt::format("expected a holder, a loop, Split or the compute of an einsum, got '{}'",
                         text));
  }
  nodes_.push_back(std::move(node));
}

// Reads the nodes that stand at `indent` or further in. `path` is what stands above the block, of
// which `fused` nodes are shared.
void TextReader::read_block(std::size_t& next, std::size_t indent, Path path, std::size_t fused) {
  const std::size_t above = path.size();
  while (next < nodes_.size() && nodes_[next].indent >= indent) {
    const TextNode& n = nodes_[next++];
    if (n.kind == TextNode::Kind::kSplit) {
      read_block(next, n.indent + 1, path, path.size());
      path.resize(above);
    } else if (n.kind == TextNode::Kind::kCompute) {
      finish(n, path, fused);
      path.resize(above);
    } else {
      path.push_back(&n);
    }
  }
}

std::vector<std::string> TextReader::level_names() const {
  std::vector<std::string> names;
  for (const StorageLevel& level : chip_.levels) names.push_back(level.name);
  return names;
}

void TextReader::add_holders(const TextNode& n, const Einsum& e, Mapping& m) const {
  const int level = static_cast<int>(index(n.line, "memory", n.place, level_names()));
  for (const std::string& name : n.tensors) {
    bool known = false;
    for (const CascadeStep& step : cascade_.steps) {
      for (const EinsumTensor& t : step.einsum.tensors) known = known || t.name == name;
    }
    if (!known) fail(n.line, fmt::format("no einsum has a tensor '{}'", name));
    for (std::size_t t = 0; t < e.tensors.size(); ++t) {
      if (e.tensors[t].name == name) m.nodes.push_back(hold(level, static_cast<int>(t)));
    }
  }
}

void TextReader::add_loop(const TextNode& n, const Einsum& e, std::vector<std::int64_t>& extents,
                          Mapping& m) const {
  const std::size_t dim = index(n.line, ("dimension of " + e.name).c_str(), n.name, e.dims);
  if (n.size > extents[dim] || extents[dim] != n.size * n.inside) {
    fail(n.line, fmt::format("a tile of {} in {} is not divided into {} of {}", extents[dim],
                             n.name, n.size, n.inside));
  }
  extents[dim] = n.inside;
  if (n.kind == TextNode::Kind::kTime) {
    const int level = m.nodes.empty() ? 0 : m.nodes.back().level;
    m.nodes.push_back(time_loop(level, static_cast<int>(dim), n.size));
    return;
  }
  std::vector<std::string> axes;
  for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
    for (std::size_t a = 0; a < chip_.levels[l].array.size(); ++a) {
      axes.push_back(chip_.levels[l].array[a].name);
      if (axes.back() != n.place) continue;
      m.nodes.push_back(
          space_loop(static_cast<int>(l), static_cast<int>(a), static_cast<int>(dim), n.size));
      return;
    }
  }
  index(n.line, "axis", n.place, axes);
}

void TextReader::check(const TextNode& leaf, const Einsum& e,
                       const std::vector<std::int64_t>& extents, const StepMapping& step) const {
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    fail(leaf.line,
         fmt::format("the loops of {} over {} leave a tile of {}", e.name, e.dims[d], extents[d]));
  }
  for (std::size_t t = 0; t < e.tensors.size(); ++t) {
    if (std::none_of(step.mapping.nodes.begin(), step.mapping.nodes.end(),
                     [&](const auto& n) { return n.hold() && n.index == static_cast<int>(t); })) {
      fail(leaf.line, fmt::format("tensor {} of {} is held nowhere", e.tensors[t].name, e.name));
    }
  }
  if (step.beside < 0) return;
  const int level = chip_.beside[static_cast<std::size_t>(step.beside)].level;
  for (const MappingNode& n : step.mapping.nodes) {
    const bool below = n.hold() ? n.level > level : n.space() && n.level >= level;
    if (!below) continue;
    fail(leaf.line,
         fmt::format("{} stands below {}, and the mapping of {} goes further in", leaf.place,
                     chip_.levels[static_cast<std::size_t>(level)].name, e.name));
  }
}

void TextReader::finish(const TextNode& leaf, const Path& path, std::size_t fused) {
  std::vector<std::string> einsums, units{chip_.compute.name};
  for (const CascadeStep& s : cascade_.steps) einsums.push_back(s.einsum.name);
  for (const SideCompute& s : chip_.beside) units.push_back(s.units.name);
  const std::size_t which = index(leaf.line, "einsum", leaf.name, einsums);
  if (seen_[which]++ != 0) fail(leaf.line, "a second mapping of einsum " + leaf.name);
  const Einsum& e = cascade_.steps[which].einsum;
  StepMapping& step = out_.steps[which];
  step.beside = static_cast<int>(index(leaf.line, "compute units", leaf.place, units)) - 1;
  std::vector<std::int64_t> extents = e.sizes;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i]->kind == TextNode::Kind::kHold) {
      add_holders(*path[i], e, step.mapping);
    } else {
      add_loop(*path[i], e, extents, step.mapping);
    }
    if (i + 1 == fused) step.fused = step.mapping.nodes.size();
  }
  check(leaf, e, extents, step);
}

}  // namespace

CascadeMapping read_looptree_text(const std::string& text, const std::string& name, int first_line,
                                  const Cascade& cascade, const Chip& chip) {
  return TextReader(name, cascade, chip).read(text, first_line);
}

}  // namespace orrery
