// The elements that a layer keeps of a sequence between tokens: its cache and its recurrent state.
#pragma once

#include "orrery/model/layers/width.h"

namespace orrery {

struct KeptState {
  // ---- for each token --------------------------------------------------------------------------

  // Elements of an entry in the format of the KV cache: keys and values of heads (grouped by
  // key-value heads), or a latent that all heads share (whole).
  Width entry;
  int tokens_per_entry = 1;  // 0: no entry outlives the window
  // Above 0: a cache in 8 bits keeps this many elements of an entry in 16 bits, and scales of the
  // others (compressed_entry_bytes in workload/ops). The engines know no wider cache.
  int rotated = 0;
  // Further elements of an entry, in 8 bits with their scales (index_key_bytes in workload/ops).
  Width narrow_index_key;
  // Further elements of an entry, in the format of the activations.
  Width index_key;
  // An earlier layer caches the entries: this layer reads them and keeps none.
  bool cached_elsewhere = false;
  int window = 0;        // tokens whose entries are kept; 0: all
  bool chunked = false;  // the window is the chunk of the token, not the last tokens
  bool chosen = false;   // a query reads some of the entries in sight, which it chooses

  // ---- for each sequence, whatever its length --------------------------------------------------

  int window_entries = 0;    // entries of single tokens beside those of `tokens_per_entry`
  std::int64_t waiting = 0;  // elements in fp32 of tokens whose entry is not complete
  Width recurrent;           // elements of recurrent state, in fp32
  Width convolution;         // the last inputs of convolutions, in the format of the activations

  // Elements of an entry that this layer keeps.
  constexpr Width cached() const { return cached_elsewhere ? Width{} : entry; }
  // Elements of the index key of an entry.
  constexpr Width index() const { return narrow_index_key + index_key; }
  // Whether each token keeps keys and values of heads, and nothing else.
  constexpr bool of_heads() const { return entry.grouped > 0 && index().total() == 0; }
};

}  // namespace orrery
