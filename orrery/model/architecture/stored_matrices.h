// The matrices of a layer under the names that checkpoints give them, so that the rules of a
// quantisation, which name modules, find them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model/architecture/architecture.h"

namespace orrery {

// `copies` matrices that are stored alike (the same projection of all routed experts).
struct StoredMatrix {
  WeightPart part = WeightPart::kMixers;
  // All names within the layer that checkpoints give it: "self_attn.q_proj", "attention.wq", ...
  std::vector<std::string> names;
  std::int64_t rows = 0;     // outputs
  std::int64_t columns = 0;  // inputs
  std::int64_t copies = 1;
  // A tool that quantises "all linear layers" leaves it as it is: routers, gates of a few outputs,
  // compressors.
  bool kept_plain = false;
  std::int64_t elements() const { return rows * columns * copies; }
};

// Every matrix of the layer. The sum of their elements is at most the parameters of the layer; the
// rest are norms, biases, convolutions and what joins residual streams.
std::vector<StoredMatrix> stored_matrices(const LayerSpec& layer, int hidden);

}  // namespace orrery
