// A mixer or an MLP in words, for people.
#pragma once

#include <string>

namespace orrery {

struct LayerFacts {
  std::string text = {};  // one line with its sizes; empty: there is nothing to say
  // The facts that `orrery show` lists for the whole model; 0 and empty: none.
  std::string kind = {};  // "GQA", "MLA", "Mamba-2"
  int heads = 0, kv_heads = 0, head_dim = 0, window = 0;
  std::string latent = {};  // what all heads share
};

}  // namespace orrery
