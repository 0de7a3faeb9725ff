// Sizes of the core of attention.
#pragma once

#include "orrery/model/layers/width.h"

namespace orrery {

// Elements of a token that attention over keys reads and writes. A mixer without such attention has
// none, and its tokens cannot be shared among context-parallel ranks.
struct AttentionWidths {
  // Queries and outputs. A query meets a key in one multiply-add for each of them: the score for
  // the elements of the query, the weighted sum for those of the output.
  Width queries;
  Width keys;  // keys and values, which context-parallel ranks exchange
  constexpr bool none() const { return queries.total() == 0; }
};

// The core of attention while decoding, which may run on the cached entries themselves.
struct DecodeWidths {
  double multiply_adds = 0;  // of a query with one key, all heads; 0: no attention
  int head = 128;            // elements of a head's key
  int packed = 1;            // query heads that share a key, as kernels pack them
};

}  // namespace orrery
