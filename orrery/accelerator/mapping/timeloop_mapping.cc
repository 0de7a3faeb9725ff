#include "orrery/accelerator/mapping/timeloop_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace orrery {
namespace {

struct Factor {
  std::int64_t size = 1, last = 1;
};

// The loops of one kind at one level: a factor for each dimension, and their order.
struct Block {
  std::vector<Factor> factors;
  std::vector<int> innermost_first;
  std::size_t split = 0;
};

struct LevelBlocks {
  Block time, space;
  std::vector<char> keeps;
};

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class DirectiveReader {
 public:
  DirectiveReader(const Einsum& problem, const Chip& chip) : problem_(problem), chip_(chip) {
    for (const StorageLevel& level : chip.levels) level_names_.push_back(level.name);
    for (const EinsumTensor& tensor : problem.tensors) tensor_names_.push_back(tensor.name);
    levels_.resize(chip.levels.size());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const bool memory = chip.levels[l].kind == StorageLevel::Kind::kMemory;
      levels_[l].keeps.assign(problem.tensors.size(), memory ? 1 : 0);
      for (Block* block : {&levels_[l].time, &levels_[l].space}) {
        block->factors.assign(problem.dims.size(), Factor{});
      }
    }
  }

  Mapping read(const Node& list) {
    for (const Node& directive : list.items()) read_directive(directive);
    fill_remainders(list);
    check_coverage(list);
    return build();
  }

 private:
  static std::size_t index_of(const std::vector<std::string>& names, const std::string& name,
                              const Node& at, const char* what) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      at.fail(fmt::format("expected a {} ({}), got '{}'{}", what, fmt::join(names, ", "), name,
                          did_you_mean(name, names)));
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  void read_directive(const Node& d) {
    const Node& target = d.at("target");
    const std::size_t level = index_of(level_names_, target.as_string(), target, "level");
    const std::string& type = d.at("type").as_string();
    if (type == "temporal") {
      read_block(d, levels_[level].time);
    } else if (type == "spatial") {
      Block& block = levels_[level].space;
      read_block(d, block);
      // Without a split all loops run along X.
      block.split = block.innermost_first.size();
      if (const Node* split = d.find("split")) {
        const std::int64_t n = split->as_int();
        if (n < 0) split->fail("expected the number of loops along X");
        block.split = static_cast<std::size_t>(n);
      }
      if (const Node* none = d.find("no_reuse")) {
        for (const Node& name : none->items()) {
          const std::size_t t = index_of(tensor_names_, name.as_string(), name, "tensor");
          unicast_.emplace_back(static_cast<int>(level), static_cast<int>(t));
        }
      }
    } else if (type == "datatype" || type == "bypass") {
      read_keeps(d, "keep", level, 1);
      read_keeps(d, "bypass", level, 0);
    } else {
      d.at("type").fail("expected temporal, spatial, datatype or bypass");
    }
  }

  void read_keeps(const Node& d, const char* key, std::size_t level, char value) {
    const Node* names = d.find(key);
    if (names == nullptr) return;
    for (const Node& name : names->items()) {
      levels_[level].keeps[index_of(tensor_names_, name.as_string(), name, "tensor")] = value;
    }
  }

  void read_block(const Node& d, Block& block) {
    if (const Node* factors = d.find("factors")) {
      if (factors->is_list()) {
        for (const Node& f : factors->items()) read_factors(f, block);
      } else if (!factors->is_null()) {
        read_factors(*factors, block);
      }
    }
    std::vector<int>& order = block.innermost_first;
    order.clear();
    if (const Node* permutation = d.find("permutation")) read_order(*permutation, order);
    for (int dim = 0; dim < static_cast<int>(problem_.dims.size()); ++dim) {
      if (std::find(order.begin(), order.end(), dim) == order.end()) order.push_back(dim);
    }
  }

  // "M=8,7 N=4", "M8 N4": a comma before a digit begins the iterations of the last pass.
  void read_factors(const Node& node, Block& block) {
    const std::string& text = node.as_string();
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto number = [&](std::int64_t& value) {
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc() || value < 0 || value > (std::int64_t{1} << 40)) {
        node.fail("expected factors such as M=8 N=4,3");
      }
      at = next;
    };
    while (at < end) {
      if (*at == ' ' || *at == ',') {
        ++at;
        continue;
      }
      const char* const begin = at;
      while (at < end && letter(*at)) ++at;
      const std::string name(begin, at);
      Factor& f = block.factors[index_of(problem_.dims, name, node, "dimension")];
      if (at < end && *at == '=') ++at;
      number(f.size);
      f.last = f.size;
      if (at + 1 < end && *at == ',' && digit(at[1])) {
        ++at;
        number(f.last);
        if (f.last < 1 || f.last > f.size) node.fail("expected a last pass of 1 to all iterations");
      }
    }
  }

  void read_order(const Node& node, std::vector<int>& order) const {
    const auto add = [&](const std::string& name) {
      const auto dim = static_cast<int>(index_of(problem_.dims, name, node, "dimension"));
      if (std::find(order.begin(), order.end(), dim) != order.end()) {
        node.fail(fmt::format("{} stands twice", name));
      }
      order.push_back(dim);
    };
    if (node.is_list()) {
      for (const Node& name : node.items()) add(name.as_string());
      return;
    }
    const std::string& text = node.as_string();
    const bool separated = text.find_first_of(" ,") != std::string::npos;
    std::string name;
    for (const char c : text + " ") {
      if (c != ' ' && c != ',') name += c;
      if (!name.empty() && (!separated || c == ' ' || c == ',')) {
        add(name);
        name.clear();
      }
    }
  }

  template <class Visit>
  void for_each_factor(std::size_t dim, const Visit& visit) {
    for (LevelBlocks& level : levels_) {
      visit(level.time.factors[dim]);
      visit(level.space.factors[dim]);
    }
  }

  void fill_remainders(const Node& list) {
    for (std::size_t d = 0; d < problem_.dims.size(); ++d) {
      Factor* open = nullptr;
      std::int64_t product = 1;
      for_each_factor(d, [&](Factor& f) {
        if (f.size == 0 && open != nullptr) {
          list.fail(fmt::format("{}: two factors of 0; only one can stand for the rest",
                                problem_.dims[d]));
        }
        if (f.size == 0) {
          open = &f;
        } else if (product <= problem_.sizes[d]) {
          product *= f.size;
        }
      });
      if (open == nullptr) continue;
      if (problem_.sizes[d] % product != 0) {
        list.fail(fmt::format("{}: the other factors multiply to {}, which does not divide {}",
                              problem_.dims[d], product, problem_.sizes[d]));
      }
      open->size = open->last = problem_.sizes[d] / product;
    }
  }

  // The last pass of every loop together reaches the last element of a dimension.
  void check_coverage(const Node& list) {
    for (std::size_t d = 0; d < problem_.dims.size(); ++d) {
      double last = 0, inner = 1;
      for (std::size_t l = levels_.size(); l-- > 0;) {
        for (const Factor* f : {&levels_[l].space.factors[d], &levels_[l].time.factors[d]}) {
          last += real(f->last - 1) * inner;
          inner *= real(f->size);
        }
      }
      if (last + 1 != real(problem_.sizes[d])) {
        list.fail(fmt::format("{}: the loops cover {:.0f} of {} elements", problem_.dims[d],
                              last + 1, problem_.sizes[d]));
      }
    }
  }

  Mapping build() const {
    Mapping m;
    m.unicast = unicast_;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const auto level = static_cast<int>(l);
      for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
        if (levels_[l].keeps[t] != 0) m.nodes.push_back(hold(level, static_cast<int>(t)));
      }
      const auto add = [&](const Block& block, bool in_space) {
        for (std::size_t i = block.innermost_first.size(); i-- > 0;) {
          const int dim = block.innermost_first[i];
          const Factor f = block.factors[static_cast<std::size_t>(dim)];
          if (f.size == 1) continue;
          m.nodes.push_back(in_space ? space_loop(level, i < block.split ? 0 : 1, dim, f.size)
                                     : time_loop(level, dim, f.size));
          m.nodes.back().last = f.last;
        }
      };
      add(levels_[l].time, false);
      add(levels_[l].space, true);
    }
    return m;
  }

  const Einsum& problem_;
  const Chip& chip_;
  std::vector<std::string> level_names_, tensor_names_;
  std::vector<LevelBlocks> levels_;
  std::vector<std::pair<int, int>> unicast_;
};

}  // namespace

Mapping read_timeloop_mapping(const Node& root, const Einsum& problem, const Chip& chip) {
  const Node* inside = root.find("mapping");
  const Node& list = inside != nullptr ? *inside : root;
  if (!list.is_list()) list.fail("expected a list of directives");
  return DirectiveReader(problem, chip).read(list);
}

}  // namespace orrery
