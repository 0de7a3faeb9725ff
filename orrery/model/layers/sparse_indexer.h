// The indexer of DeepSeek sparse attention (DeepSeek-V3.2, GLM-5) and of DeepSeek-V4: a small
// attention that picks the past tokens, or entries, which the main attention then reads. It caches
// one key of head_dim for each. Every rank holds all of it.
#pragma once

#include <cstdint>

#include "orrery/model/layers/layer_weights.h"

namespace orrery {

struct SparseIndexer {
  int heads = 0;
  int head_dim = 0;
  bool operator==(const SparseIndexer&) const = default;

  // Queries from a row of `inputs` elements.
  template <class Weights>
  constexpr void declare_queries(Weights& w, std::int64_t inputs, std::string_view leaves) const {
    w.matrix(LayerMatrix{"index_q", whole(std::int64_t{heads} * head_dim), whole(inputs)}
                 .of_indexer()
                 .named(leaves));
  }
  // The weight of each head.
  template <class Weights>
  constexpr void declare_head_weights(Weights& w, std::int64_t hidden,
                                      std::string_view leaves) const {
    w.matrix(
        LayerMatrix{"index_w", whole(heads), whole(hidden)}.of_indexer().named(leaves).plain());
  }
};

}  // namespace orrery
