#include "orrery/accelerator/mapping/timeloop_mapping.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/accelerator/mapping/timeloop_text.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kMostElements = 4398046511104.0;  // 2^42, of a dimension with its last passes

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
  static std::size_t index_of(const std::vector<std::string>& names, const Node& name,
                              const char* what) {
    return static_cast<std::size_t>(index_of_name(names, name.as_string(), name, what));
  }

  void read_directive(const Node& d) {
    const Node& target = d.at("target");
    const std::size_t level = index_of(level_names_, target, "level");
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
          const std::size_t t = index_of(tensor_names_, name, "tensor");
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
      levels_[level].keeps[index_of(tensor_names_, name, "tensor")] = value;
    }
  }

  void read_block(const Node& d, Block& block) {
    if (const Node* factors = d.find("factors")) {
      for (const TimeloopFactor& f : read_factors(*factors, problem_.dims)) {
        if (f.bound) factors->fail("a mapping has factors (M=8), not bounds");
        block.factors[index(f.dim)] = {f.size, f.last};
      }
    }
    std::vector<int>& order = block.innermost_first;
    order.clear();
    if (const Node* permutation = d.find("permutation")) {
      order = read_permutation(*permutation, problem_.dims);
    }
    for (int dim = 0; dim < static_cast<int>(problem_.dims.size()); ++dim) {
      if (std::find(order.begin(), order.end(), dim) == order.end()) order.push_back(dim);
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
        if (inner > kMostElements) {
          list.fail(fmt::format("{}: the factors multiply to more than 2^42", problem_.dims[d]));
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
          const Factor f = block.factors[index(dim)];
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
