#include "orrery/model/architecture/stored_matrices.h"

#include <algorithm>
#include <string_view>

#include "orrery/model/architecture/declared_weights.h"

namespace orrery {
namespace {

// Texts one after another with spaces between.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

// Collects the declared matrices that checkpoints name.
struct NamedMatrices {
  std::vector<StoredMatrix> list;

  void matrix(const LayerMatrix& m) {
    if (m.leaves.empty()) return;
    StoredMatrix stored{.part = m.part,
                        .names = {},
                        .rows = m.outputs.total(),
                        .columns = m.inputs.total(),
                        .copies = m.copies,
                        .kept_plain = m.kept_plain};
    for (const std::string_view module : words_of(m.modules)) {
      for (const std::string_view leaf : words_of(m.leaves))
        stored.names.push_back(std::string(module) + "." + std::string(leaf));
    }
    list.push_back(std::move(stored));
  }
  void vector(const LayerVector&) {}
};

}  // namespace

std::vector<StoredMatrix> stored_matrices(const LayerSpec& layer, int hidden) {
  NamedMatrices named;
  // Norms are no matrices: their kind does not matter.
  declare_layer(layer, hidden, Norm::kRms, named);
  return std::move(named.list);
}

}  // namespace orrery
