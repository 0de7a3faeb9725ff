#include "tests/unit/accelerator/any_nest.h"

#include <rapidcheck/gtest.h>

namespace orrery {

int pick(int least, int most) { return *rc::gen::inRange(least, most + 1); }
bool flip() { return pick(0, 1) == 1; }

Einsum any_einsum(bool sums) {
  Einsum e;
  e.name = "Z";
  e.dims = {"m", "n", "k"};
  e.sizes = {1, 1, 1};
  e.tensors = {{"A", {{{kM, 1}}, {{kK, 1}}}, false, 8, "input"},
               {"B", {{{kK, 1}}, {{kN, 1}}}, false, 8, "weight"},
               {"Z", {{{kM, 1}}, {{kN, 1}}}, true, 8, "output"}};
  if (sums) {
    e.dims.push_back("r");
    e.sizes.push_back(1);
    e.tensors[0].ranks[0].push_back({kR, 1});
    e.tensors[1].ranks.push_back({{kR, 1}});
  }
  return e;
}

Chip any_chip() {
  Chip c;
  c.levels.resize(3);
  for (std::size_t l = 0; l < 3; ++l) {
    StorageLevel& level = c.levels[l];
    level.name = std::string("MBL").substr(l, 1);
    level.word_bits = 8;
    level.energy = {1.0 + pick(0, 5), 1.0 + pick(0, 5), 1, 0};
    if (flip()) level.shared_bandwidth = pick(1, 8);
    if (l == 0) continue;
    level.array = {{"X", 64, {}}};
    if (flip()) continue;
    level.array[0].shared.emplace();
    for (const char* role : {"input", "weight", "output"}) {
      if (flip()) level.array[0].shared->push_back(role);
    }
  }
  c.compute.energy = 1;
  return c;
}

Nest any_nest(bool sums, bool imperfect) {
  Nest n{any_einsum(sums), any_chip(), {}};
  std::vector<MappingNode>& nodes = n.mapping.nodes;
  const int loops = pick(2, 6);
  for (int i = 0; i < loops; ++i) {
    const int dim = pick(0, static_cast<int>(n.einsum.dims.size()) - 1);
    const int size = pick(2, 3);
    n.einsum.sizes[static_cast<std::size_t>(dim)] *= size;
    nodes.push_back(pick(0, 3) == 0 ? space_loop(pick(1, 2), 0, dim, size)
                                    : time_loop(0, dim, size));
  }
  if (imperfect) {
    for (std::int64_t& size : n.einsum.sizes) size = pick(1, static_cast<int>(size));
  }
  for (int t = 0; t < 3; ++t) {
    std::size_t above = 0;
    for (int level = 1; level < 3; ++level) {
      if (flip()) continue;
      const std::size_t at =
          static_cast<std::size_t>(pick(static_cast<int>(above), static_cast<int>(nodes.size())));
      nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), hold(level, t));
      above = at + 1;
    }
  }
  nodes.insert(nodes.begin(), {hold(0, 0), hold(0, 1), hold(0, 2)});
  return n;
}

Nest any_even_nest() {
  Nest n{any_einsum(false), any_chip(), {}};
  for (int level = 0; level < 3; ++level) {
    for (int t = 0; t < 3; ++t) n.mapping.nodes.push_back(hold(level, t));
    for (int i = pick(0, 3); i > 0; --i) {
      const int dim = pick(0, 2), size = pick(2, 3);
      n.einsum.sizes[static_cast<std::size_t>(dim)] *= size;
      n.mapping.nodes.push_back(time_loop(level, dim, size));
    }
    if (level == 0 || flip()) continue;
    const int dim = pick(0, 2);
    n.einsum.sizes[static_cast<std::size_t>(dim)] *= 2;
    n.mapping.nodes.push_back(space_loop(level, 0, dim, 2));
  }
  return n;
}

double volume(const Einsum& e, int tensor) {
  return tile_words(e.tensors[static_cast<std::size_t>(tensor)], e.sizes);
}

}  // namespace orrery
