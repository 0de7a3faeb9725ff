#include "orrery/model/layers/layer_weights.h"

#include <array>

#include "orrery/base/index.h"

namespace orrery {

std::string_view to_text(WeightPart part) {
  constexpr std::array<std::string_view, 10> kNames = {"embedding",      "lm_head",
                                                       "mixers",         "indexers",
                                                       "dense_mlps",     "routed_experts",
                                                       "shared_experts", "latent_projections",
                                                       "routers",        "mtp"};
  return kNames[index(part)];
}

}  // namespace orrery
